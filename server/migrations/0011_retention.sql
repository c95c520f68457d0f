-- For the sweep, which forgets ended grants and old addresses: it finds them by an index, a few at a time. A refresh writes none of
-- these columns, so it still rewrites its row in place.
create index grants_revoked_at on grants (revoked_at) where revoked_at is not null;
create index grants_token_sets_created_at on grants (created_at) where revoked_at is null and variant = 'token_set';
create index grants_requested_from_created_at on grants (created_at) where requested_from is not null;

-- A link may refer to the grant that is to be forgotten.
create index links_grant_id on links (grant_id) where grant_id is not null;
