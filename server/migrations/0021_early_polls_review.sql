-- Reviews of applications that poll far too fast, which no granted code has to confirm.
-- docs/decisions/0019-suspension-is-a-judgement-of-evidence.md

alter table reviews drop constraint reviews_reason_check;
alter table reviews add constraint reviews_reason_check
  check (reason in ('polling', 'reports', 'operator', 'early_polls')) not valid;
alter table reviews validate constraint reviews_reason_check;
