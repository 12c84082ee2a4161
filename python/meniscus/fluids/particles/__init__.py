"""Liquids of particles: PIC, FLIP and APIC."""
