"""The exact law by enumeration and quadrature."""
