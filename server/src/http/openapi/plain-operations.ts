/** Operations for health checks and for the OpenAPI document itself. */
import type { Operation } from './operation.ts'

export const plainOperations = {
  checkLive: {
    tag: 'Health and description',
    summary: 'Whether the process runs',
    description: 'Restart the process when this does not answer, and not for any other reason.',
    security: ['none'],
    answers: { 200: { description: 'It runs.', schema: 'Live' } },
    refusals: [],
  },
  checkReady: {
    tag: 'Health and description',
    summary: 'Whether the process can do its work',
    description:
      'Send no requests to a process that is not ready: PostgreSQL is out of its reach, or it is about to stop.',
    security: ['none'],
    answers: { 200: { description: 'It can.', schema: 'Ready' } },
    refusals: ['unavailable'],
  },
  readDescription: {
    tag: 'Health and description',
    summary: 'This document',
    description: 'OpenAPI 3.1, in JSON. For people there is the same at `/reference`.',
    security: ['none'],
    answers: { 200: { description: 'The document.', schema: 'Description' } },
    refusals: [],
  },
} as const satisfies Readonly<Record<string, Operation>>
