-- Deposits keep the SHA-256 of their request instead of its text.
-- Why: the text has the payer's e-mail, name and country and the custom fields. Processes of the version before compare texts, so that
-- the rows change only when none of them runs. The text is JSON: `replace` keeps its backslashes from being read as escapes. Unlike
-- `convert_to`, the cast depends on no setting, so that Citus takes it in an update.
-- Locks: the rows that are rewritten, until the end. A deposit under way waits; a new one does not. About a minute for each million rows.
update deposits.deposits set request_hash = encode(sha256(replace(request_hash, '\', '\\')::bytea), 'hex')
where request_hash like '[%';
