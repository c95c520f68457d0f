/** Request section of the consent page: user code, time and origin of the request, warnings. */

import { ExpiryNotice } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import type { Frame } from '../ui/frame.ts'
import { Notice } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import type { Words } from '../ui/words.ts'
import { Outlook } from './consent-answers.tsx'
import type { ConsentModel } from './consent-model.ts'
import { VerifiedHint } from './consent-parties.tsx'

export function Warnings({ frame, model }: { readonly frame: Frame; readonly model: ConsentModel }) {
  const { words } = frame
  const { origin } = model.request
  const elsewhere = origin === 'other_country' || origin === 'other_network'
  if (!model.crowded && !model.shared && !elsewhere) return null
  return (
    <div class="must-see">
      <Notice kind="warning" title={words.t('consent.beware')}>
        {elsewhere && <p>{words.t(`consent.${origin}`)}</p>}
        {model.crowded && <p>{words.t('consent.crowded')}</p>}
        {model.shared && <p>{words.t('consent.shared')}</p>}
        <p>{words.t('consent.when_in_doubt')}</p>
      </Notice>
    </div>
  )
}

export function CodeAsked({ words, model }: { readonly words: Words; readonly model: ConsentModel }) {
  const { request } = model
  return (
    <section class="stack tight" aria-labelledby="request">
      <h2 id="request">{words.t('consent.same_code')}</h2>
      <UserCode words={words} model={model} />
      <div class="hint">
        <p>
          {words.t('consent.ago', { minutes: Math.floor(model.age / 60_000) })} ·{' '}
          <bdi>{request.place ?? request.address ?? words.t('consent.place_unknown')}</bdi>
        </p>
        <ExpiryNotice words={words} remaining={model.remaining} />
      </div>
      <Details words={words} model={model} />
    </section>
  )
}

/** What a decision does not depend on. A lifetime without an end is no detail: it stays in sight. */
function Details({ words, model }: { readonly words: Words; readonly model: ConsentModel }) {
  const { request, publisher, variant, preview = false } = model
  const offered = model.prevented === null
  if (request.address === null && request.says === null && publisher.status !== 'verified' && !offered) return null
  return (
    <details class="more">
      <summary>{words.t('consent.details')}</summary>
      <div class="stack tight">
        <Facts>
          <Fact name={words.t('consent.address')}>{request.address && <bdi>{request.address}</bdi>}</Fact>
          <Fact name={words.t('consent.network')}>{request.network && <bdi>{request.network}</bdi>}</Fact>
        </Facts>
        {request.says !== null && (
          <div class="says">
            <p class="hint">{words.t('consent.says')}</p>
            <blockquote>
              <bdi>{request.says}</bdi>
            </blockquote>
          </div>
        )}
        <VerifiedHint words={words} publisher={publisher} />
        {offered && variant === 'token_set' && <Outlook words={words} model={model} />}
        {offered && (
          <p class="hint">
            {words.rich('consent.later', { a: preview ? strong : (chunks) => <a href="/applications">{chunks}</a> })}
          </p>
        )}
      </div>
    </details>
  )
}

/** A last group that must be retyped is masked: the user has to read it where the application shows it. */
function UserCode({ words, model }: { readonly words: Words; readonly model: ConsentModel }) {
  const groups = model.userCode.split(' ')
  const last = groups.at(-1) ?? ''
  if (!model.retype)
    return (
      <bdi class="user-code" dir="ltr">
        {model.userCode}
      </bdi>
    )
  return (
    <bdi class="user-code" dir="ltr">
      {groups.slice(0, -1).join(' ')} <span aria-hidden="true">{'•'.repeat(last.length)}</span>
      <span class="visually-hidden">{words.t('consent.last_group_hidden')}</span>
    </bdi>
  )
}
