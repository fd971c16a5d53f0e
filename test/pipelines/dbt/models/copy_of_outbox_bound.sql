{{ config(materialized='incremental') }}
SELECT id, body FROM public.outbox
WHERE id < public.comb_settled()
{% if is_incremental() %}
    AND id > coalesce((SELECT id FROM {{ this }} ORDER BY id DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')
{% endif %}
