-- latchkey: no-transaction
-- What was left behind by a run that was ended in the middle goes first; it is an index that is not valid.
drop index concurrently if exists visits_page_idx;
create index concurrently visits_page_idx on visits (page);

-- Semicolons that end nothing; and each statement may be repeated.
insert into visits (page) select 'a;b' where not exists (select from visits where page = 'a;b');
