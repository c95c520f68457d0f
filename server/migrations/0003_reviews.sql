-- Reviews of applications: the evidence of the suspension rule, and the decisions of operators.

create table reviews (
  id                 text constraint reviews_pkey primary key constraint reviews_id_check check (id ~ '^rev_[0-9a-z]{12}$'),
  application_id     text not null constraint reviews_application_id_fkey references applications,
  opened_at          timestamptz not null,
  reason             text not null constraint reviews_reason_check check (reason in ('polling', 'reports', 'operator', 'early_polls')),
  verdict            text not null
                     constraint reviews_verdict_check check (verdict in ('fine', 'observe', 'warn', 'review', 'suspend')),
  harm               double precision not null,
  evidence           jsonb not null,
  -- Those by which the evidence was counted and judged; they are settings.
  thresholds         jsonb not null,
  judged_at          timestamptz not null,
  -- The last verdict above `observe`; a review without one for a while is closed by the rule.
  last_escalated_at  timestamptz not null,
  warned_at          timestamptz,
  -- Suspended by the rule. Ends without a decision at `suspension_ends_at`; null: waits for an operator.
  suspended_at       timestamptz,
  suspension_ends_at timestamptz,
  appealed_at        timestamptz,
  -- Null also after the user was erased.
  appealed_by        text constraint reviews_appealed_by_fkey references users on delete set null,
  appeal             text constraint reviews_appeal_check check (length(appeal) between 1 and 2000),
  closed_at          timestamptz,
  -- Incremented by every change that an operator should see before deciding.
  version            integer not null default 1,
  constraint reviews_appeal_complete check ((appealed_at is null) = (appeal is null) and (appealed_at is not null or appealed_by is null)),
  constraint reviews_suspension_end_is_open check (suspension_ends_at is null or (suspended_at is not null and closed_at is null))
);

-- At most one open review per application.
create unique index reviews_one_open_idx on reviews (application_id) where closed_at is null;
create index reviews_application_id_opened_at_idx on reviews (application_id, opened_at);
create index reviews_closed_at_idx on reviews (closed_at, id);
create index reviews_opened_at_idx on reviews (opened_at, id);
create index reviews_harm_idx on reviews (harm, id);

create table review_decisions (
  id               text constraint review_decisions_pkey primary key
                   constraint review_decisions_id_check check (id ~ '^dec_[0-9a-z]{12}$'),
  review_id        text not null constraint review_decisions_review_id_fkey references reviews,
  decided_at       timestamptz not null,
  decided_by       text not null constraint review_decisions_decided_by_fkey references users,
  decision         text not null constraint review_decisions_decision_check
                   check (decision in ('reinstate', 'reinstate_slower', 'reinstate_and_restore', 'keep', 'keep_and_revoke')),
  reason           text not null constraint review_decisions_reason_check check (reason in (
    'fixed', 'mistaken', 'stolen_secret', 'broken_firmware', 'phishing', 'no_answer', 'other')),
  words            text not null constraint review_decisions_words_check check (length(words) between 1 and 2000),
  interval_seconds integer constraint review_decisions_interval_seconds_check check (interval_seconds between 1 and 300),
  needs_second     boolean not null,
  -- Those by which it was decided.
  thresholds       jsonb not null,
  -- Operators at that time: only they may confirm.
  operators        text[] not null,
  confirmed_by     text constraint review_decisions_confirmed_by_fkey references users,
  confirmed_at     timestamptz,
  -- Before a second operator confirmed it.
  withdrawn_by     text constraint review_decisions_withdrawn_by_fkey references users,
  withdrawn_at     timestamptz,
  -- Number of grants that it revoked or restored.
  grants           integer not null default 0,
  -- Null while a second operator has to confirm.
  took_effect_at   timestamptz,
  -- The facts that the decision is based on (flows/reviews/decide.ts): a second operator sees whether they still hold.
  seen             text not null,
  constraint review_decisions_second_is_another check (confirmed_by <> decided_by),
  constraint review_decisions_second_was_operator check (confirmed_by = any (operators)),
  constraint review_decisions_slower_has_interval check ((decision = 'reinstate_slower') = (interval_seconds is not null)),
  constraint review_decisions_confirmed_by_whom check ((confirmed_at is null) = (confirmed_by is null)),
  constraint review_decisions_withdrawn_by_whom check ((withdrawn_at is null) = (withdrawn_by is null)),
  constraint review_decisions_withdrawn_without_effect check (withdrawn_at is null or took_effect_at is null),
  constraint review_decisions_confirmed_only_if_needed check (needs_second or confirmed_by is null),
  constraint review_decisions_effect_after_confirmation
    check (took_effect_at is null or not needs_second or confirmed_at is not null)
);

create index review_decisions_review_id_decided_at_idx on review_decisions (review_id, decided_at);
-- At most one decision of a review waits for a second operator.
create unique index review_decisions_one_waiting_idx on review_decisions (review_id)
  where took_effect_at is null and withdrawn_at is null;

-- Minutes in which the service was overloaded: early polls in them are not held against applications.
create table overloads (
  minute timestamptz constraint overloads_pkey primary key,
  shed   bigint not null
);
