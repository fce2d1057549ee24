"""Interface of coordinators and predictors, and what several of them are made of."""
