-- A claimed code that somebody else enters, too: the user who decides about it is told. A colleague changes nothing else; a user
-- of another account also closes the code (entry_closed).
alter table device_codes
  add column also_entered text check (also_entered in ('colleague', 'another_account'));
