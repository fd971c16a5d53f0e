{{ config(materialized='incremental') }}
SELECT id, body FROM public.outbox
{% if is_incremental() %}
WHERE id > (SELECT id FROM {{ this }} ORDER BY id DESC LIMIT 1)
{% endif %}
