/**
 * What a user typed, in compatibility form: keyboards and paste buffers send é as one character or as two, and digits in
 * full width. The rest of a text longer than `max` is cut off first, because normalising combining marks takes quadratic
 * time.
 */
export function nfkc(typed: string, max: number): string {
  return typed.slice(0, max).normalize('NFKC')
}

/** Longest code that is read, with spaces and dashes: a user code, or one of an authenticator. */
export const MAX_TYPED_CODE = 200
