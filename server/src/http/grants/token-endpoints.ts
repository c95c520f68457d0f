/**
 * Endpoints that exchange a code and renew a token set, in the native dialect.
 * docs/interface/credentials.md, "Credentials".
 */
import { formatScope } from '../../core/grants/scope.ts'
import type { Context } from '../../flows/context.ts'
import {
  confirmExchangeSent,
  type ExchangeResult,
  type ExchangeTicket,
  exchangeCode as exchange,
  releaseExchangeLost,
} from '../../flows/dialog/exchange-code.ts'
import { type RefreshResult, refreshTokenSet as refreshSet } from '../../flows/grants/refresh.ts'
import type { Answer } from '../answer.ts'
import {
  accessToken,
  codeVerifier,
  grantedScope,
  readableHeaders,
  redirectUri,
  refreshToken,
  tokenExpiresIn,
  tokenSet,
} from '../fields.ts'
import type { Endpoint } from '../route.ts'
import { optional, parse, text } from '../schema.ts'
import { applicationIn, byApplication } from './application-fields.ts'
import { readableByOwnPages } from './own-pages.ts'

const exchangeForm = {
  ...byApplication,
  code: text('The `code` that the dialog returned with.'),
  redirect_uri: redirectUri,
  code_verifier: codeVerifier,
}

const exchangeHandler = readableByOwnPages('interface', async (context, request) => {
  const form = parse(exchangeForm, request.parameters())
  const result = await exchange(context, {
    ...applicationIn(form),
    code: form.code,
    redirectUri: form.redirect_uri,
    codeVerifier: form.code_verifier,
    idempotencyKey: request.header('idempotency-key'),
  })
  if (result.outcome !== 'exchanged') return refusedExchange(result)
  const { issued, ticket } = result
  const { accessToken, refreshToken, expiresInSeconds, scopes, state } = issued
  return {
    status: 200,
    fields: {
      access_token: accessToken,
      refresh_token: refreshToken,
      expires_in: expiresInSeconds,
      scope: formatScope(scopes),
      state,
    },
    ...settling(context, ticket),
  }
})

export function refusedExchange({ outcome }: Exclude<ExchangeResult, { outcome: 'exchanged' }>): Answer {
  if (outcome === 'unavailable') return { refusal: outcome, retryAfterSeconds: 2 }
  if (outcome !== 'verifier_missing') return { refusal: outcome }
  return { refusal: 'invalid_request', message: 'The parameter code_verifier is missing: the dialog had a challenge.' }
}

export function settling(context: Context, ticket: ExchangeTicket | null): Pick<Answer, 'whenSent'> {
  if (!ticket) return {}
  return { whenSent: (sent) => (sent ? confirmExchangeSent(context, ticket) : releaseExchangeLost(context, ticket)) }
}

export const exchangeCode = {
  method: 'POST',
  path: '/auth/oauth/token',
  dialect: 'interface',
  handler: exchangeHandler,
  operation: {
    id: 'exchangeCode',
    tag: 'Dialog',
    summary: 'Exchange the dialog’s code for a token set',
    description:
      'Once, within a minute of the user’s yes, by the application that opened the dialog, with the same `redirect_uri` and the verifier of its challenge. A wrong verifier or address spends the code; a missing verifier does not. If the connection broke before the answer arrived, send the same request again.\n\nA code that comes back after its answer was sent is in two hands: it is refused, and the token set it led to ends. With an `Idempotency-Key` the same exchange gets the same answer again.',
    security: ['applicationInForm', 'none'],
    form: exchangeForm,
    headers: {
      'Idempotency-Key': optional(
        text(
          'One random text per code: 1 to 255 printable characters without spaces. If the answer got lost on its way, an exchange with the same key gets it again for 10 minutes, with the `expires_in` that is left.',
          { maxLength: 255 },
        ),
      ),
    },
    answers: { 200: { description: 'The first token set.', body: tokenSet, headers: readableHeaders } },
    refusals: ['invalid_request', 'invalid_grant', 'invalid_application', 'unavailable'],
    samples: [{ label: 'Exchange the code', send: ['SVCappid', 'SVCsecret', 'code', 'redirect_uri', 'code_verifier'] }],
  },
} as const satisfies Endpoint

const refreshForm = {
  ...byApplication,
  refresh_token: text('The newest refresh token that you hold.'),
  scope: optional(text('Not more than was granted; more is refused, less changes nothing. Best left out.')),
}

const refreshHandler = readableByOwnPages('interface', async (context, request) => {
  const form = parse(refreshForm, request.parameters())
  const { refresh_token, scope } = form
  const result = await refreshSet(context, { ...applicationIn(form), refreshToken: refresh_token, scope })
  if (result.outcome !== 'refreshed') return refusedRefresh(result)
  const { issued } = result
  return {
    status: 200,
    fields: {
      access_token: issued.accessToken,
      refresh_token: issued.refreshToken,
      expires_in: issued.expiresInSeconds,
      scope: formatScope(issued.scopes),
    },
  }
})

export function refusedRefresh(result: Exclude<RefreshResult, { outcome: 'refreshed' }>): Answer {
  const message = 'reason' in result ? { message: result.reason } : {}
  return { refusal: result.outcome, ...message }
}

export const refreshTokenSet = {
  method: 'POST',
  path: '/auth/oauth/refresh',
  dialect: 'interface',
  handler: refreshHandler,
  operation: {
    id: 'refreshTokenSet',
    tag: 'Credentials',
    summary: 'Renew a token set',
    description:
      'Gives a new access token and a new refresh token. Store both before you use them, and let one process of yours do it at a time. If the answer got lost, repeat the request with the same refresh token: you get the same set again until the new set is used, and for 30 seconds at least. After that, an old refresh token counts as stolen, and the access ends.\n\nThe access token that you hold goes on working until its own expiry.\n\n`invalid_grant` is final: start over with a new code or dialog.',
    security: ['applicationInForm', 'none'],
    form: refreshForm,
    answers: {
      200: {
        description: 'The next token set.',
        body: {
          name: 'RenewedTokenSet',
          description: 'The next token set. Store it before you use it.',
          properties: {
            access_token: accessToken,
            refresh_token: refreshToken,
            expires_in: tokenExpiresIn,
            scope: grantedScope,
          },
          xml: true,
        },
        headers: readableHeaders,
      },
    },
    refusals: ['invalid_request', 'invalid_scope', 'invalid_grant', 'invalid_application', 'unavailable'],
    samples: [{ label: 'Renew', send: ['SVCappid', 'SVCsecret', 'refresh_token'] }],
  },
} as const satisfies Endpoint
