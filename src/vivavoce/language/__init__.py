"""Human languages, one package each; English is the first."""
