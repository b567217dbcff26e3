/* Gamma, Poisson and binomial values by rejection. */
#pragma once

#include "kernel.h"

Range gamma_values, poisson_values, binomial_values;
