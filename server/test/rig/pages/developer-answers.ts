/** Answers of the forms of the developer console: a part of every-answer.ts. */
import type { Page } from 'playwright-core'
import { restoreApplication, suspendApplication } from '../../../src/flows/applications/manage.ts'
import { openedReview } from '../../../src/flows/reviews/open.ts'
import { insertReview, lockReviews } from '../../../src/store/reviews/reviews.ts'
import { press, type Registration, registerApplication, send, submit } from '../browser/clicks.ts'
import type { MadeApplication } from '../make.ts'
import type { Northwind } from '../scenes/northwind.ts'
import { switchTestModeOff, switchTestModeOn } from '../test-mode.ts'
import { defaultThresholds } from '../thresholds.ts'
import type { AnswerPage } from './answer-page.ts'

export function developerAnswers(northwind: Northwind): readonly AnswerPage[] {
  const answers = [registering, secrets, testMode, settings, appeals, webhooks, changes].flatMap((part) =>
    part(northwind),
  )
  return answers.map((each) => ({
    as: 'ann',
    ...each,
  }))
}

type Answer = Omit<AnswerPage, 'as'>

/** A word too long for one line of any telephone. */
const LONG = `http://shop.northwind.example/${'connected'.repeat(14)}`

function registering({ service }: Northwind): readonly Answer[] {
  const device = { name: 'Packing Table', kind: 'device', uses: { 'orders:read': 'default' } } as const
  const web = { ...device, kind: 'web' } as const
  const answer = (name: string, says: AnswerPage['says'], given: Registration): Answer => {
    return { name: `developer-new-${name}`, says, open: (page) => registerApplication(page, given) }
  }
  const registered = (name: string, says: AnswerPage['says'], given: Registration): Answer => ({
    ...answer(name, says, given),
    // Long ago: an account has few unvetted applications, and those deleted lately count.
    after: () =>
      service.database.query("update applications set deleted_at = now() - interval '31 days' where name = $1", [
        given.name,
      ]),
  })
  const many = Array.from({ length: 11 }, (_, index) => `https://shop.northwind.example/${index}`)
  return [
    answer('scopes', 'register.heading_scopes', { name: 'Packing Table', kind: 'device' }),
    answer('redirects', 'register.heading_redirects', web),
    answer('unnamed', 'register.problem_name', { ...device, name: ' ' }),
    answer('no-kind', 'register.problem_kind', { name: 'Packing Table' }),
    answer('no-scopes', 'register.problem_scopes', { ...device, uses: {} }),
    answer('no-redirects', 'redirects.problem_none', { ...web, redirects: '' }),
    answer('redirects-scheme', 'redirects.problem_scheme', { ...web, redirects: LONG }),
    answer('redirects-spelled', 'redirects.problem_not_canonical', {
      ...web,
      redirects: 'https://Shop.northwind.example',
    }),
    answer('redirects-many', 'redirects.problem_too_many', { ...web, redirects: many.join('\n') }),
    registered('registered', 'secret_shown.once_text', device),
    registered('registered-web', 'secret_shown.once_text', { ...web, redirects: 'https://table.example/' }),
    registered('registered-public', 'secret_shown.public_text', {
      ...web,
      kind: 'page',
      redirects: 'https://table.example/',
    }),
  ]
}

function secrets({ service, own }: Northwind): readonly Answer[] {
  const { board, shop, trial } = own
  const look = (page: Page, { id }: MadeApplication) => page.goto(`/developer/application?application=${id}`)
  /** Revokes all secrets but the newest `kept`, and restores them afterwards. */
  const leave = ({ id }: MadeApplication, count: number) =>
    service.database.query(
      `update application_secrets s set revoked_at = case when r.place > $2 then now() end
       from (select id, row_number() over (order by created_at desc, id) as place from application_secrets
         where application_id = $1) r
       where r.id = s.id`,
      [id, count],
    )
  return [
    {
      name: 'developer-secret-added',
      says: 'secret_shown.added_text',
      open: async (page) => {
        await look(page, board)
        await page.fill('#label', 'Boards in Bremen')
        await submit(page, '/developer/application/secret')
      },
      after: () =>
        service.database.query("delete from application_secrets where application_id = $1 and label like '%Bremen'", [
          board.id,
        ]),
    },
    {
      name: 'developer-secret-too-many',
      says: 'own_application.problem_too_many',
      // Another administrator was faster, with the same page open.
      open: async (page) => {
        await leave(shop, 2)
        await look(page, shop)
        await leave(shop, 3)
        await submit(page, '/developer/application/secret')
      },
    },
    {
      name: 'developer-secret-last',
      says: 'own_application.problem_last',
      open: async (page) => {
        await look(page, board)
        await leave(board, 1)
        await page.locator('main summary').first().click()
        await press(page, 'details[open] button[type=submit]')
      },
      after: () => leave(board, 3),
    },
    {
      name: 'developer-secret-sure',
      says: 'own_application.end_yes',
      open: async (page) => {
        await look(page, shop)
        await page.locator('main summary').first().click()
      },
    },
    {
      name: 'developer-secret-ended',
      says: 'own_application.notice_revoked',
      open: (page) => page.goto(`/developer/application?application=${board.id}&notice=revoked`),
    },
    {
      name: 'developer-application-suspended',
      says: 'own_application.suspended_text',
      open: async (page) => {
        await suspendApplication(service.context.db, trial.id, 'for a look')
        await look(page, trial)
      },
      after: () => restoreApplication(service.context.db, trial.id, 'looked'),
    },
  ]
}

/** A suspended application and the appeal of its owner. */
function appeals({ service, own: { trial } }: Northwind): readonly Answer[] {
  const path = `/developer/application/activity?application=${trial.id}`
  const { db } = service.context
  const suspend = () => suspendApplication(db, trial.id, 'for a look')
  const restore = async () => {
    await restoreApplication(db, trial.id, 'looked')
    await service.database.query('delete from reviews where application_id = $1', [trial.id])
  }
  const appeal = (words: string) => async (page: Page) => {
    await suspend()
    await send(page, path, '/developer/application/appeal', { words })
  }
  return [
    {
      name: 'developer-activity-suspended',
      says: 'suspension.suspended_title',
      open: async (page) => {
        await suspend()
        await page.goto(path)
      },
      after: restore,
    },
    { name: 'developer-appeal-empty', says: 'suspension.problem_words', open: appeal(' '), after: restore },
    { name: 'developer-appeal-sent', says: 'suspension.appealed', open: appeal('Firmware 3 is out.'), after: restore },
    {
      name: 'developer-appeal-late',
      says: 'suspension.problem_not_suspended',
      open: async (page) => {
        await suspend()
        await page.goto(path)
        await restoreApplication(db, trial.id, 'looked')
        await submit(page, '/developer/application/appeal')
      },
    },
    {
      name: 'developer-activity-warned',
      says: 'suspension.warned_title',
      open: async (page) => {
        const review = { ...openedReview(trial.id, 'polling', defaultThresholds, Date.now()), warnedAt: Date.now() }
        await db.transaction(async (tx) => {
          await lockReviews(tx, trial.id)
          await insertReview(tx, review)
        })
        await page.goto(path)
      },
      after: () => service.database.query('delete from reviews where application_id = $1', [trial.id]),
    },
  ]
}

function testMode({ service, own, ann }: Northwind): readonly Answer[] {
  const { board, trial } = own
  const look = (page: Page, { id }: MadeApplication) => page.goto(`/developer/application?application=${id}`)
  const off = () => switchTestModeOff(service, board, ann)
  return [
    {
      name: 'developer-test-mode-started',
      says: 'test_secret.once_text',
      open: async (page) => {
        await look(page, board)
        await submit(page, '/developer/application/test-mode')
      },
      after: off,
    },
    {
      name: 'developer-test-mode-already-on',
      says: 'own_application.problem_test_mode_on',
      // Somebody else was quicker, on a page that was open at the same time.
      open: async (page) => {
        await look(page, board)
        await switchTestModeOn(service, board, ann)
        await submit(page, '/developer/application/test-mode')
      },
      after: off,
    },
    {
      name: 'developer-test-mode-ended',
      says: 'own_application.notice_test_mode_off',
      open: async (page) => {
        await look(page, trial)
        await submit(page, '/developer/application/test-mode/end')
      },
      after: () => switchTestModeOn(service, trial, ann),
    },
  ]
}

function settings({ own: { board } }: Northwind): readonly Answer[] {
  const path = `/developer/application/settings?application=${board.id}`
  const save = (values: Record<string, string>) => (page: Page) =>
    send(page, path, '/developer/application/settings', values)
  return [
    { name: 'developer-settings-unnamed', says: 'application_settings.problem_name', open: save({ name: ' ' }) },
    { name: 'developer-settings-redirects', says: 'redirects.problem_scheme', open: save({ redirects: LONG }) },
    {
      name: 'developer-settings-saved',
      says: 'own_application.notice_saved',
      open: (page) => page.goto(`/developer/application?application=${board.id}&notice=saved`),
    },
  ]
}

function webhooks({ service, own: { shop, counter } }: Northwind): readonly Answer[] {
  const path = `/developer/application/webhooks?application=${shop.id}`
  const add = (url: string) => (page: Page) => send(page, path, '/developer/application/webhooks', { url })
  const addFive = () =>
    service.database.query(
      `insert into webhook_endpoints (id, application_id, url, key_id, created_at)
       select 'whk_many' || n, $1, 'https://counter.northwind.example/' || n, 1, now() from generate_series(1, 5) n`,
      [counter.id],
    )
  const full = `/developer/application/webhooks?application=${counter.id}`
  const sure = (what: string) => async (page: Page) => {
    await page.goto(path)
    await page.locator(`details:has(form[action$="/${what}"]) summary`).first().click()
  }
  return [
    { name: 'developer-webhooks-private', says: 'webhooks.problem_private', open: add('https://192.168.178.1/hooks') },
    { name: 'developer-webhooks-scheme', says: 'webhooks.problem_scheme', open: add(LONG) },
    { name: 'developer-webhooks-rotate-sure', says: 'webhooks.rotate_yes', open: sure('rotate') },
    { name: 'developer-webhooks-remove-sure', says: 'webhooks.remove_yes', open: sure('remove') },
    {
      name: 'developer-webhooks-resent',
      says: 'webhooks.notice_resent',
      open: (page) => page.goto(`${path}&notice=resent`),
    },
    {
      name: 'developer-webhooks-full',
      says: 'webhooks.full',
      open: async (page) => {
        await addFive()
        await page.goto(full)
      },
      after: () => service.database.query('delete from webhook_endpoints where application_id = $1', [counter.id]),
    },
    {
      name: 'developer-webhooks-too-many',
      says: 'webhooks.problem_too_many',
      // Another administrator was faster, with the same page open.
      open: async (page) => {
        await page.goto(full)
        await addFive()
        await page.fill('#url', 'https://counter.northwind.example/')
        await submit(page, '/developer/application/webhooks')
      },
      after: () => service.database.query('delete from webhook_endpoints where application_id = $1', [counter.id]),
    },
    {
      name: 'developer-webhook-added',
      says: 'webhook_secret.notice_added',
      open: async (page) => {
        await send(page, full, '/developer/application/webhooks', { url: 'https://counter.northwind.example/hooks' })
      },
      after: () => service.database.query('delete from webhook_endpoints where application_id = $1', [counter.id]),
    },
    {
      name: 'developer-webhook-retired',
      says: 'webhook_secret.retired_text',
      open: async (page) => {
        await service.database.query('update webhook_endpoints set key_id = 200 where application_id = $1', [shop.id])
        await page.goto(path)
        await page.locator('a[href*="/webhooks/secret"]').first().click()
      },
      after: () =>
        service.database.query('update webhook_endpoints set key_id = 1 where application_id = $1', [shop.id]),
    },
  ]
}

/** Publisher, name and logo of an application. */
function changes({ service, own: { board, shop } }: Northwind): readonly Answer[] {
  const PUBLISHER = '/developer/application/publisher'
  const at = (path: string, { id }: MadeApplication) => `${path}?application=${id}`
  const type = (domain: string) => (page: Page) => send(page, at(PUBLISHER, board), PUBLISHER, { domain })
  const check = (domain: string) => async (page: Page) => {
    await type(domain)(page)
    await submit(page, `${PUBLISHER}/check`)
  }
  const forgetChecks = () => service.database.query('delete from publisher_checks')
  const upload = async (page: Page, bytes: Buffer | null) => {
    await page.goto(at('/developer/application/logo', board))
    if (bytes) await page.setInputFiles('#logo', { name: 'logo.png', mimeType: 'image/png', buffer: bytes })
    await submit(page, '/developer/application/logo')
  }
  const missing = (since: string) =>
    service.database.query(`update applications set publisher_missing_since = ${since} where id = $1`, [shop.id])
  const declined = (words: string | null) =>
    service.database.query(
      `update application_proposals set declined_at = case when $2::text is not null then now() end, declined_reason = $2
       where application_id = $1`,
      [shop.id, words],
    )
  return [
    {
      name: 'developer-publisher-address',
      says: 'publisher_page.problem_address',
      open: type('https://www.northwind.example/about'),
    },
    {
      name: 'developer-publisher-none',
      says: 'publisher_page.result_none',
      open: check('boards.example'),
      after: forgetChecks,
    },
    {
      name: 'developer-publisher-other',
      says: 'publisher_page.result_other',
      open: check('northwind.example'),
      after: forgetChecks,
    },
    {
      name: 'developer-publisher-silent',
      says: 'publisher_page.result_silent',
      open: check('northwind.org'),
      after: forgetChecks,
    },
    {
      name: 'developer-publisher-missing',
      says: 'publisher_page.missing_text',
      open: async (page) => {
        await missing('now()')
        await page.goto(at(PUBLISHER, shop))
      },
      after: () => missing('null'),
    },
    {
      name: 'developer-publisher-sure',
      says: 'publisher_page.remove_yes',
      open: async (page) => {
        await page.goto(at(PUBLISHER, shop))
        await page.locator('main summary').first().click()
      },
    },
    {
      name: 'developer-logo-no-picture',
      says: 'picture.problem_unknown',
      open: (page) => upload(page, Buffer.from('no picture')),
    },
    { name: 'developer-logo-none', says: 'application_logo.problem_none', open: (page) => upload(page, null) },
    {
      name: 'developer-application-declined',
      says: 'proposal.declined_text',
      open: async (page) => {
        await declined('This is the logo of another company. Show us that you may use it.')
        await page.goto(at('/developer/application', shop))
      },
      after: () => declined(null),
    },
    {
      name: 'developer-settings-taken',
      says: 'application_settings.problem_taken',
      open: (page) =>
        send(page, at('/developer/application/settings', board), '/developer/application/settings', {
          name: 'Acrne Signage',
        }),
    },
  ]
}
