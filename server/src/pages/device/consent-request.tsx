/** Request section of the consent page: user code, time and origin of the request, warnings. */

import { ExpiryNotice } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import type { Frame } from '../ui/frame.ts'
import { Notice } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import type { ConsentModel } from './consent-model.ts'

export function Warnings({ frame, model }: { readonly frame: Frame; readonly model: ConsentModel }) {
  const { words } = frame
  const { origin } = model.request
  const elsewhere = origin === 'other_country' || origin === 'other_network'
  if (!model.crowded && !model.shared && !elsewhere) return null
  return (
    <Notice kind="warning" title={words.t('consent.beware')}>
      {elsewhere && <p>{words.t(`consent.${origin}`)}</p>}
      {model.crowded && <p>{words.t('consent.crowded')}</p>}
      {model.shared && <p>{words.t('consent.shared', { name: frame.account?.name ?? '' })}</p>}
      <p>{words.t('consent.when_in_doubt')}</p>
    </Notice>
  )
}

export function CodeAsked({ words, model }: { readonly words: Words; readonly model: ConsentModel }) {
  const { request } = model
  return (
    <section class="stack tight" aria-labelledby="request">
      <h2 id="request">{words.t('consent.same_code')}</h2>
      <UserCode words={words} model={model} />
      <Facts>
        <Fact name={words.t('consent.requested')}>
          {words.t('consent.ago', { minutes: Math.floor(model.age / 60_000) })}
        </Fact>
        <Fact name={words.t('consent.from')}>
          {request.place ?? words.t('consent.place_unknown')}
          <SeenAt address={request.address} network={request.network} />
        </Fact>
      </Facts>
      {request.says !== null && (
        <div class="says">
          <p class="hint">{words.t('consent.says')}</p>
          <blockquote>
            <bdi>{request.says}</bdi>
          </blockquote>
        </div>
      )}
      <div class="hint">
        <ExpiryNotice words={words} remaining={model.remaining} />
      </div>
    </section>
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

function SeenAt({ address, network }: Pick<ConsentModel['request'], 'address' | 'network'>) {
  if (address === null) return null
  return (
    <p class="hint">
      <bdi>{address}</bdi>
      {network !== null && (
        <>
          <br />
          <bdi>{network}</bdi>
        </>
      )}
    </p>
  )
}
