CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;

${orders};
