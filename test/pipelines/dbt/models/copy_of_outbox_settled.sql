{{ config(materialized='incremental') }}
SELECT id, body FROM public.outbox_settled
{% if is_incremental() %}
WHERE id > coalesce((SELECT id FROM {{ this }} ORDER BY id DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')
{% endif %}
