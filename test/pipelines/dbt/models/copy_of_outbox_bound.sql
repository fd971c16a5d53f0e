{{ config(materialized='incremental') }}
SELECT id, body FROM public.outbox
WHERE id < public.comb_settled()
{% if is_incremental() %}
    AND id > (SELECT id FROM {{ this }} ORDER BY id DESC LIMIT 1)
{% endif %}
