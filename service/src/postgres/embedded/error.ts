/** Any failure to run the embedded server. The message is one line, written for the operator's terminal. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}

/** The first line of whatever was thrown: an operator reads one line, the rest stays in `cause`. */
export const reasonOf = (thrown: unknown): string => {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  return text.split('\n')[0] ?? text
}

export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
