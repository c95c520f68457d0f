/**
 * Sample requests to copy, with the application's id filled in: the first requests of its developer. docs/interface.md.
 */
import { CopyButton } from './elements.tsx'
import type { Words } from './words.ts'

export type Sample = {
  readonly title: 'code_oauth' | 'code_key' | 'poll' | 'xml' | 'test' | 'dialog' | 'exchange' | 'refresh'
  readonly text: string
}

type Ways = {
  readonly code: boolean
  /** A redirect URI; null: the application does not use the dialog. */
  readonly redirect: string | null
  readonly public: boolean
  /** Its developer's tests decide its codes. */
  readonly testMode?: boolean
}

export function samplesFor(publicUrl: string, id: string, ways: Ways): readonly Sample[] {
  const credentials = ways.public ? [`-d SVCappid=${id}`] : [`-d SVCappid=${id}`, '-d SVCsecret="$SECRET"']
  const ours = (path: string, ...parameters: string[]) => curl(`${publicUrl}${path}`, [...credentials, ...parameters])
  const samples: Sample[] = []
  if (ways.code) samples.push(...(ways.public ? publicCodeSamples(publicUrl, id) : codeSamples(ours)))
  if (ways.testMode) {
    const decision = ['-d test_secret="$TEST_SECRET"', '-d user_code="$USER_CODE"', '-d decision=grant']
    samples.push({ title: 'test', text: ours('/auth/test/decision', ...decision) })
  }
  if (ways.redirect !== null) {
    const returns = `--data-urlencode redirect_uri=${quoted(ways.redirect)}`
    samples.push(
      { title: 'dialog', text: dialogLink(publicUrl, id, ways.redirect) },
      {
        title: 'exchange',
        text: ours('/auth/oauth/token', '-d code="$CODE"', returns, '-d code_verifier="$CODE_VERIFIER"'),
      },
    )
  }
  if (ways.code || ways.redirect !== null) {
    samples.push({ title: 'refresh', text: ours('/auth/oauth/refresh', '-d refresh_token="$REFRESH_TOKEN"') })
  }
  return samples
}

function codeSamples(ours: (path: string, ...parameters: string[]) => string): readonly Sample[] {
  return [
    { title: 'code_oauth', text: ours('/auth/oauth/device/code', '-d state=living-room') },
    { title: 'code_key', text: ours('/auth/key/device/code', '-d state=living-room') },
    { title: 'poll', text: ours('/auth/oauth/device/polling', '-d device_code="$DEVICE_CODE"') },
    { title: 'xml', text: ours('/auth/oauth/device/code.xml', '-d state=living-room') },
  ]
}

/** A public client gets codes in the standard dialect only. docs/interface.md, "Application credentials". */
function publicCodeSamples(publicUrl: string, id: string): readonly Sample[] {
  const poll = [
    '-d grant_type=urn:ietf:params:oauth:grant-type:device_code',
    `-d client_id=${id}`,
    '-d device_code="$DEVICE_CODE"',
  ]
  return [
    { title: 'code_oauth', text: curl(`${publicUrl}/oauth/device_authorization`, [`-d client_id=${id}`]) },
    { title: 'poll', text: curl(`${publicUrl}/oauth/token`, poll) },
  ]
}

function dialogLink(publicUrl: string, id: string, redirect: string): string {
  const parameters = `client_id=${id}&response_type=code&redirect_uri=${encodeURIComponent(redirect)}`
  return `${publicUrl}/1/auth/oauth/authorize?${parameters}&state=$STATE&code_challenge=$CODE_CHALLENGE&code_challenge_method=S256`
}

function curl(url: string, parameters: readonly string[]): string {
  return [`curl ${url}`, ...parameters.map((parameter) => `  ${parameter}`)].join(' \\\n')
}

/** Quotes for a shell: a URL may contain quotes and dollar signs. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

type SamplesProps = { readonly words: Words; readonly samples: readonly Sample[]; readonly secret: boolean }

/** `secret`: the application has a secret to fill in. */
export function Samples({ words, samples, secret }: SamplesProps) {
  if (samples.length === 0) return null
  return (
    <section class="card stack" aria-labelledby="samples">
      <h2 id="samples">{words.t('samples.title')}</h2>
      <p>{words.t(secret ? 'samples.text' : 'samples.text_public')}</p>
      <div class="beside">
        {samples.map(({ title, text }) => (
          <section class="stack tight" aria-labelledby={`sample-${title}-title`} key={title}>
            <div class="heading">
              <h3 id={`sample-${title}-title`}>{words.t(`samples.${title}`)}</h3>
              <CopyButton words={words} from={`sample-${title}`} />
            </div>
            <p class="hint">
              {words.t(title === 'poll' && !secret ? 'samples.poll_text_public' : `samples.${title}_text`)}
            </p>
            <pre class="technical sample" dir="ltr" id={`sample-${title}`}>
              {text}
            </pre>
          </section>
        ))}
      </div>
    </section>
  )
}
