/** The webhooks page of an application: endpoints, secret and log. */
import { describe, expect, test } from 'vitest'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { webhookSecretPage } from '../../../src/pages/webhooks/secret.tsx'
import { webhooksPage } from '../../../src/pages/webhooks/webhooks.tsx'
import { makeFrame } from '../make.ts'
import { fieldsOf, formsOf, HOOK, ID, makeDelivery, makeWebhooks, WEBHOOK_SECRET } from '../make-developer.ts'

const frame = makeFrame()
const show = (given: Parameters<typeof makeWebhooks>[0] = {}) => webhooksPage(frame, makeWebhooks(given))
const ACTION = '/developer/application/webhooks'

describe('an endpoint', () => {
  test('that is live can be tested, given a new secret and removed, each bound to it; the last two need a confirmation', () => {
    const html = show()
    const signed = `{&quot;application&quot;:&quot;${ID}&quot;,&quot;endpoint&quot;:&quot;whk_live&quot;}`
    for (const what of ['test', 'rotate', 'remove']) {
      expect(html).toContain(`value="signed ${ACTION}/${what} ${signed}"`)
    }
    const asked = Array.from(html.matchAll(/<details class="are-you-sure">.*?<\/details>/gs), ([found]) => found).join(
      '',
    )
    expect(formsOf(asked, `${ACTION}/rotate`)).toHaveLength(1)
    expect(formsOf(asked, `${ACTION}/remove`)).toHaveLength(2)
    expect(html).toContain(`href="${ACTION}/secret?application=${ID}&amp;endpoint=whk_live"`)
  })

  test('that is gone shows the reason, and can only be removed', () => {
    const gone = makeWebhooks().endpoints.filter((endpoint) => endpoint.gone)
    const html = show({ endpoints: gone })
    expect(html).toContain('The endpoint responded “410 Gone”')
    expect(formsOf(html, `${ACTION}/remove`)).toHaveLength(1)
    expect([...formsOf(html, `${ACTION}/test`), ...formsOf(html, `${ACTION}/rotate`)]).toEqual([])
  })

  test('can be added up to the maximum, not counting those that are gone', () => {
    expect(fieldsOf(formsOf(show({ maxEndpoints: 2 }), ACTION).join(''))).toEqual(['application', 'token', 'url'])
    const full = show({ maxEndpoints: 1 })
    expect(formsOf(full, ACTION)).toEqual([])
    expect(full).toContain('The limit of 1 endpoints is reached.')
  })

  test('that cannot be added is shown again with the problem at the field', () => {
    const html = show({ url: 'https://10.0.0.1/', problem: 'private' })
    expect(html).toContain('<a href="#url">This URL leads to a private network')
    expect(html).toMatch(
      /<input(?=[^>]* id="url")(?=[^>]* value="https:\/\/10\.0\.0\.1\/")(?=[^>]* aria-invalid="true")/,
    )
    expect(html).toMatch(/<input(?=[^>]* id="url")(?=[^>]* dir="ltr")/)
  })
})

describe('the secret', () => {
  const secretPage = (secret: string | null) =>
    webhookSecretPage(frame, { id: ID, name: 'Acme', url: HOOK, secret, notice: null })

  test('is on its page once, in no attribute and in no form, and on no other', () => {
    expect(secretPage(WEBHOOK_SECRET).split(WEBHOOK_SECRET)).toHaveLength(2)
    expect(secretPage(WEBHOOK_SECRET)).toContain(`id="webhook-secret">${WEBHOOK_SECRET}</bdi>`)
    expect(show()).not.toContain('whsec_')
  })

  test('whose key was retired is not shown, but what to do', () => {
    expect(secretPage(null)).toContain('Rotate the secret and give the new one to your receiver.')
    expect(secretPage(null)).not.toContain('webhook-secret"')
  })
})

describe('the log', () => {
  const row = (given: Parameters<typeof makeDelivery>[0]) => {
    const html = show({ deliveries: [makeDelivery(given)] })
    return html
      .slice(html.indexOf('<h2 id="log">'))
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
  }

  test.each([
    [{}, ['Pending', 'Response 503 after 9.48 s', '3 attempts', 'next attempt:']],
    [
      { status: 'delivered', attempts: 1, last: { tookMs: 38, answer: 204 }, nextAt: null },
      ['Delivered', 'Response 204 after 0.04 s', '1 attempt'],
    ],
    [{ attempts: 2 }, ['2 attempts']],
    [
      { status: 'given_up', attempts: 8, last: { tookMs: 10_000, answer: 'timeout' }, nextAt: null },
      ['Failed', 'No response within 10 seconds.', '8 attempts'],
    ],
    [{ attempts: 0, last: null }, ['Pending', 'no attempts yet']],
    [{ status: 'off', attempts: 0, last: null, nextAt: null }, ['Not sent']],
  ] as const)('says what became of a delivery: %j', (given, texts) => {
    const text = row(given)
    for (const each of [...texts, 'grant.created', 'evt_1f81eb5251984599803e771906343485']) expect(text).toContain(each)
    if ('nextAt' in given) expect(text).not.toContain('next attempt')
  })

  test('offers to resend each delivery, bound to it, except for disabled endpoints', () => {
    const forms = formsOf(show(), `${ACTION}/resend`)
    expect(forms).toHaveLength(3)
    expect(forms[0]).toContain(`{&quot;application&quot;:&quot;${ID}&quot;,&quot;delivery&quot;:&quot;7&quot;}`)
  })

  test('shows the address only with several endpoints', () => {
    const log = (html: string) => html.slice(html.indexOf('<h2 id="log">'))
    expect(log(show())).not.toContain(HOOK)
    const two = [makeDelivery(), makeDelivery({ id: '8', url: `${HOOK}/old` })]
    expect(log(show({ deliveries: two }))).toContain(`${HOOK}/old`)
  })

  test('keeps technical text from left to right in right-to-left languages', () => {
    const html = webhooksPage(makeFrame({ words: wordsFor('ar') }), makeWebhooks())
    expect(html).toContain('<bdi class="technical" dir="ltr">evt_')
    expect(html).toContain('<code class="technical strong" dir="ltr">grant.created</code>')
  })
})
