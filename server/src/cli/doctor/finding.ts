/** What an examination finds: how it stands, what it is, and one sentence that mends it. */

export type Standing = 'ok' | 'warning' | 'broken'

export type Finding = {
  /** What was looked at. */
  readonly check: string
  /** `warning`: the service works, but not as it should. `broken`: it does not do its work. */
  readonly standing: Standing
  readonly what: string
  /** Null where there is nothing to mend. */
  readonly mend: string | null
}

export function ok(check: string, what: string): Finding {
  return { check, standing: 'ok', what, mend: null }
}

export function warning(check: string, what: string, mend: string): Finding {
  return { check, standing: 'warning', what, mend }
}

export function broken(check: string, what: string, mend: string): Finding {
  return { check, standing: 'broken', what, mend }
}

export function worstOf(findings: readonly Finding[]): Standing {
  const has = (standing: Standing) => findings.some((finding) => finding.standing === standing)
  if (has('broken')) return 'broken'
  return has('warning') ? 'warning' : 'ok'
}
