"""Stiffness and forces of one tetrahedron by the recipes of the class notes: corrected, and as printed.

Source: Müller, Stam, James and Thürey, "Real time physics class notes", 2008, sections 4.2.1 (forces on deformed faces) and 4.2.2
(stiffness by entries).
"""

from typing import Literal

import numpy as np

StiffnessFormula = Literal["corrected", "printed-shear", "printed"]
FaceForceFormula = Literal["cauchy", "printed-halved", "printed"]


def element_stiffness(
    corners: np.ndarray, youngs_modulus: float, poissons_ratio: float, formula: StiffnessFormula = "corrected"
) -> np.ndarray:
    """Return the matrix K (12, 12) of f = -K (p - x) for Cauchy strain and Hooke's law, N/m.

    "printed-shear" has a coefficient of shear that is too large by a factor of two, so that the element is not isotropic; "printed" also
    has six times the volume.
    """
    edges = (corners[1:] - corners[0]).T
    nu, volume = poissons_ratio, np.linalg.det(edges) / (1 if formula == "printed" else 6)
    assert volume > 0
    factor = volume * youngs_modulus / ((1 + nu) * (1 - 2 * nu))
    a, b, c = factor * (1 - nu), factor * nu, factor * (1 - 2 * nu) / (2 if formula == "corrected" else 1)
    normal = np.full((3, 3), b) + (a - b) * np.eye(3)
    rows = np.linalg.inv(edges)
    y = np.concatenate([-rows.sum(axis=0)[None], rows])
    shear = [np.array([(v[1], 0, v[2]), (v[0], v[2], 0), (0, v[1], v[0])]) for v in y]
    return np.block([[np.diag(y[i]) @ normal @ np.diag(y[j]) + c * shear[i] @ shear[j].T for j in range(4)] for i in range(4)])


def element_face_forces(
    corners: np.ndarray, positions: np.ndarray, youngs_modulus: float, poissons_ratio: float, formula: FaceForceFormula = "cauchy"
) -> np.ndarray:
    """Return the forces (4, 3) at the corners as thirds of the forces on the deformed faces, N.

    "cauchy" transforms the stress S of Green strain into that on deformed faces, F S F^T / det F; "printed-halved" takes S itself, which is
    not indifferent to rotation; "printed" also lacks the factor 1/2 of the area of a triangle.
    """
    f = (positions[1:] - positions[0]).T @ np.linalg.inv((corners[1:] - corners[0]).T)
    strain = 0.5 * (f.T @ f - np.eye(3))
    mu = youngs_modulus / (2 * (1 + poissons_ratio))
    stiff = youngs_modulus * poissons_ratio / ((1 + poissons_ratio) * (1 - 2 * poissons_ratio))
    stress = 2 * mu * strain + stiff * np.trace(strain) * np.eye(3)
    if formula == "cauchy":
        stress = f @ stress @ f.T / np.linalg.det(f)
    forces = np.zeros((4, 3))
    # These faces are clockwise as seen from outside: what pulls at them from inside acts on their corners.
    for face in ((0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)):
        p, q, r = positions[list(face)]
        area = 0.5 * np.cross(q - p, r - p)
        forces[list(face)] += stress @ area / (1.5 if formula == "printed" else 3)
    return forces
