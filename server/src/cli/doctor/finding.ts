/** Result of one check: its severity, what was found, and one sentence that says how to fix it. */

export type Severity = 'ok' | 'warning' | 'broken'

export type Finding = {
  /** Name of the check. */
  readonly check: string
  /** `warning`: the service works, but not as it should. `broken`: the service, or this part of it, does not work. */
  readonly severity: Severity
  readonly what: string
  /** Null if there is nothing to fix. */
  readonly remedy: string | null
}

export function ok(check: string, what: string): Finding {
  return { check, severity: 'ok', what, remedy: null }
}

export function warning(check: string, what: string, remedy: string): Finding {
  return { check, severity: 'warning', what, remedy }
}

export function broken(check: string, what: string, remedy: string): Finding {
  return { check, severity: 'broken', what, remedy }
}

export function worstOf(findings: readonly Finding[]): Severity {
  const has = (severity: Severity) => findings.some((finding) => finding.severity === severity)
  if (has('broken')) return 'broken'
  return has('warning') ? 'warning' : 'ok'
}
