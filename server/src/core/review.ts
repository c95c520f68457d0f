/** What operators may decide about an application that is under review, and why. docs/operations.md, "When an application polls too fast". */

export const decisions = ['reinstate', 'reinstate_slower', 'keep', 'keep_and_revoke'] as const

export type Decision = (typeof decisions)[number]

export const reasons = [
  'mended',
  'mistaken',
  'stolen_secret',
  'broken_firmware',
  'phishing',
  'no_answer',
  'other',
] as const

export type Reason = (typeof reasons)[number]
