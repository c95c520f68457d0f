/** AD-01: what others wrote, looked at by an operator in real Chromium. Nothing of it runs, and nothing is loaded from elsewhere. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { markupCorpus } from '../attacks/web/markup-corpus.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { signIn } from '../rig/browser/clicks.ts'
import { hostileNames } from '../rig/corpora/hostile-names.ts'
import { PASSWORD } from '../rig/scenes/northwind.ts'
import { sample, sized } from '../rig/size.ts'

const browsing = useBrowsing()

const hostile = hostileNames
  .flatMap(([, names]) => names)
  .filter((name) => name !== '' && !/[\0\ud800-\udfff]/.test(name))
const texts = sample([...markupCorpus, ...hostile])

/** The newest events and decisions on the page of an application. */
const SHOWN = 30

/** As names are kept: a hundred characters at most. */
const names = [...new Set(texts.map((text) => text.slice(0, 100)))]

/** An application for each name, each under review; and all that anybody can write about one. Whatever no flow would write, too. */
async function writeEverywhere(): Promise<string> {
  const { database } = browsing.northwind.service
  const [account] = await database.query<{ id: string }>("select id from accounts where slug = 'makers'")
  const [operator] = await database.query<{ id: string }>("select id from users where email = 'olga@operators.example'")
  const id = (prefix: string) => `'${prefix}_' || lpad(n::text, 12, '0')`
  await database.query(
    `insert into applications (id, account_id, name, publisher, publisher_status, allowed_scopes, default_scopes,
       required_scopes, device_flow, redirect_uris, public_client, pkce_required, resource_server, created_at, change_number)
     select ${id('app')}, $1, name, name, 'unverified', '{}', '{}', '{}', true, '{}', false, true, false, now(),
       nextval('application_changes')
     from unnest($2::text[]) with ordinality as made(name, n)`,
    [account?.id, names],
  )
  const evidence = JSON.stringify({
    ...{ windows: [], touched: 3, factor: 2, reports: 0, warnedAt: null, now: 0 },
    funnel: { requested: 0, entered: 0, granted: 0 },
  })
  await database.query(
    `insert into reviews (id, application_id, opened_at, reason, verdict, harm, evidence, thresholds, judged_at,
       last_escalated_at, appealed_at, appealed_by, appeal)
     select ${id('rev')}, ${id('app')}, now(), 'polling', 'warn', n, $1, '{}', now(), now(), now(), $2, name
     from unnest($3::text[]) with ordinality as made(name, n)`,
    [evidence, operator?.id, names],
  )
  const watched = `app_${'1'.padStart(12, '0')}`
  await database.query(
    `insert into review_decisions (id, review_id, decided_at, decided_by, decision, reason, words, needs_second, thresholds, seen, took_effect_at, operators)
     select ${id('dec')}, $1, now(), $2, 'keep', 'other', words, false, '{}', '', now(), array[$2]
     from unnest($3::text[]) with ordinality as made(words, n)`,
    [watched.replace('app', 'rev'), operator?.id, texts.slice(0, SHOWN)],
  )
  await database.query(
    `insert into scopes (name, title, dangerous, device_flow, created_at)
     select 'hostile:' || n, title, true, true, now() from unnest($1::text[]) with ordinality as made(title, n)`,
    [names],
  )
  await database.query(
    `insert into accounts (id, slug, name, created_at)
     select ${id('acc')}, 'hostile-' || n, name, now() from unnest($1::text[]) with ordinality as made(name, n)`,
    [names],
  )
  return watched
}

/** Fills the timeline and the decisions of an application with as many texts as its page shows. */
async function writeHistory(application: string, some: readonly string[]): Promise<void> {
  const { database } = browsing.northwind.service
  await database.query(
    `insert into audit_events (at, kind, actor_kind, actor_id, via, application_id, detail)
     select now(), 'application.' || text, 'service', 'test', 'job', $1, jsonb_build_object('reason', text, text, text) from unnest($2::text[]) as made(text)`,
    [application, some],
  )
  await database.query(
    `update review_decisions d set words = made.words
     from unnest($1::text[]) with ordinality as made(words, n) where d.id = 'dec_' || lpad(n::text, 12, '0')`,
    [some],
  )
}

/** Every page of a list, from the first. */
async function goThrough(page: Page, path: string): Promise<number> {
  await page.goto(path)
  for (let seen = 1; ; seen += 1) {
    const more = page.locator('main a[rel=next]')
    if ((await more.count()) === 0) return seen
    await Promise.all([page.waitForEvent('load'), more.click()])
  }
}

test('AD-01: names, appeals, reasons and whatever else others wrote, as operators see them: nothing runs', {
  timeout: 240_000,
}, async () => {
  const { northwind } = browsing
  const watched = await writeEverywhere()
  const page = await browsing.open()
  // Pages with more than a thousand of everything are not what anybody waits for.
  page.setDefaultTimeout(60_000)
  const ran: string[] = []
  page.on('dialog', (dialog) => {
    ran.push(`dialog at ${page.url()}: ${dialog.message()}`)
    dialog.dismiss()
  })
  page.on('popup', (popup) => ran.push(`popup ${popup.url()}`))
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== northwind.operators) ran.push(`request ${request.url()}`)
  })
  await signIn(page, northwind.olga, PASSWORD, northwind.operators)
  const at = (path: string) => `${northwind.operators}/operator${path}`
  await page.goto(at(''))
  for (const list of ['/reviews', '/applications', '/accounts', '/account?account=makers'])
    expect(await goThrough(page, at(list))).toBeGreaterThan(names.length / 25)
  await page.goto(at('/scopes'))
  for (let from = 0; from < texts.length; from += SHOWN) {
    await writeHistory(watched, texts.slice(from, from + SHOWN))
    await page.goto(at(`/application?application=${watched}`))
    expect(await page.locator('.timeline > li').count()).toBe(SHOWN)
    expect(await page.locator('blockquote').count(), 'of the decisions and the appeal').toBe(SHOWN + 1)
  }
  // Each name and each appeal where they stand largest.
  for (const n of names.keys()) {
    if (n % sized(12, 4) !== 0) continue
    await page.goto(at(`/application?application=app_${String(n + 1).padStart(12, '0')}`))
    expect(await page.title()).toContain('Service Operators')
  }
  expect(ran).toEqual([])
})

test('AD-01: what this looks for is found, where it is there', async () => {
  const page = await browsing.openAlone()
  const ran: string[] = []
  page.on('dialog', (dialog) => {
    ran.push(dialog.message())
    dialog.dismiss()
  })
  await page.setContent('<img src=x onerror=alert(1)>')
  await expect.poll(() => ran).toEqual(['1'])
})
