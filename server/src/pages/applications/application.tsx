/** Page about one of the account's own applications: facts, scopes, secrets and sample requests. */

import { applicationHref, Ways } from '../grants/application-ways.tsx'
import { Avatar } from '../ui/avatar.tsx'
import { CopyButton, Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { Samples } from '../ui/samples.tsx'
import type { OwnApplicationModel } from './application-model.ts'
import { ProposalNotice } from './proposal.tsx'
import { PublisherLine } from './publisher.tsx'
import { SecretsCard } from './secrets.tsx'
import { TestModeCard } from './test-mode.tsx'
import { VettingCard } from './vetting.tsx'

type PartProps = { readonly frame: Frame; readonly model: OwnApplicationModel }

export function ownApplicationPage(frame: Frame, model: OwnApplicationModel): string {
  const { words } = frame
  const { name, suspended, notice, problem } = model
  const wrong = problem && words.t(`own_application.problem_${problem}`, { max: model.maxSecrets })
  return page(
    frame,
    name,
    <>
      <Problems words={words} problems={wrong ? [{ field: null, text: wrong }] : []} />
      {suspended && (
        <Notice kind="warning" title={words.t('own_application.suspended')}>
          <p>{words.t('own_application.suspended_text')}</p>
          <p>
            <a href={applicationHref(model.id, '/activity')}>{words.t('own_application.suspended_link')}</a>
          </p>
        </Notice>
      )}
      {model.testEndsAt !== null && <Notice kind="warning">{words.t('test_mode.on')}</Notice>}
      {notice && !problem && <Notice kind="success">{words.t(`own_application.notice_${notice}`)}</Notice>}
      {model.proposal && <ProposalNotice frame={frame} id={model.id} proposal={model.proposal} />}
      <header class="stack tight">
        <div class="heading">
          <div class="named">
            <Avatar name={name} logo={model.logo} size={48} />
            <h1>
              <bdi>{name}</bdi>
            </h1>
          </div>
          {suspended && <span class="badge warning">{words.t('developer.suspended')}</span>}
        </div>
        <p>
          <a href="/developer">{words.t('own_application.back')}</a>
        </p>
      </header>
      <div class="beside">
        <div class="stack">
          <Overview frame={frame} model={model} />
          {model.vetting && <VettingCard frame={frame} id={model.id} vetting={model.vetting} />}
        </div>
        <div class="stack">
          <SecretsCard frame={frame} model={model} />
          {(model.deviceFlow || model.testEndsAt !== null) && <TestModeCard frame={frame} model={model} />}
        </div>
      </div>
      <Samples words={words} samples={model.samples} secret={!model.public} />
    </>,
    { problem: problem !== null, wide: true },
  )
}

function Overview({ frame, model }: PartProps) {
  const { words } = frame
  const { id, deviceFlow, redirects } = model
  const dialog = redirects.length > 0
  return (
    <section class="card stack" aria-labelledby="overview">
      <h2 id="overview">{words.t('own_application.overview')}</h2>
      <Facts>
        <Fact name={words.t('developer.id')}>
          <span class="copied">
            <bdi class="technical" id="application-id">
              {id}
            </bdi>
            <CopyButton words={words} from="application-id" />
          </span>
        </Fact>
        <Fact name={words.t('developer.since')}>
          <Day words={words} ms={model.createdOn} />
        </Fact>
        <Fact name={words.t('own_application.publisher')}>
          <PublisherLine words={words} publisher={model.publisher} />
        </Fact>
        <Fact name={words.t('developer.connected')}>
          <Ways words={words} code={deviceFlow} dialog={dialog} />
        </Fact>
        <Fact name={words.t('own_application.redirects')}>
          {dialog && (
            <ul class="titles">
              {redirects.map((uri) => (
                <li key={uri}>
                  <bdi class="technical" dir="ltr">
                    {uri}
                  </bdi>
                </li>
              ))}
            </ul>
          )}
        </Fact>
      </Facts>
      <Scopes frame={frame} model={model} />
      <p class="actions">
        <a class="button quiet" href={applicationHref(id, '/settings')}>
          {words.t('own_application.settings')}
        </a>
        <a class="button quiet" href={applicationHref(id, '/publisher')}>
          {words.t('own_application.change_publisher')}
        </a>
        <a class="button quiet" href={applicationHref(id, '/logo')}>
          {words.t('own_application.change_logo')}
        </a>
        <a class="button quiet" href={applicationHref(id, '/activity')}>
          {words.t('own_application.activity')}
        </a>
        <a class="button quiet" href={applicationHref(id, '/webhooks')}>
          {words.t('own_application.webhooks')}
        </a>
        {deviceFlow && (
          <a class="button quiet" href={`${applicationHref(id, '/preview')}&by=code`}>
            {words.t('own_application.preview_code')}
          </a>
        )}
        {dialog && (
          <a class="button quiet" href={`${applicationHref(id, '/preview')}&by=dialog`}>
            {words.t('own_application.preview_dialog')}
          </a>
        )}
      </p>
    </section>
  )
}

function Scopes({ frame, model }: PartProps) {
  const { words } = frame
  return (
    <div class="stack tight">
      <h3>{words.t('own_application.scopes')}</h3>
      {model.scopes.length === 0 ? (
        <p>{words.t('own_application.scopes_none')}</p>
      ) : (
        <ul class="titles">
          {model.scopes.map((scope) => (
            <li key={scope.name}>
              {scope.title}
              <p class="hint">
                <code class="technical" dir="ltr">
                  {scope.name}
                </code>{' '}
                · {words.t(`scope_choice.use_${scope.use}`)}
              </p>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
