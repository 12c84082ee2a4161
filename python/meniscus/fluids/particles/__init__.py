"""Solver for liquids of particles: PIC, FLIP and APIC."""
