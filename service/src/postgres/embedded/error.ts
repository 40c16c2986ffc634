/** The embedded server could not be run. The message is one line for the operator's terminal. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}

/** The first line of the message of `thrown`. The full error stays in `cause`. */
export const reasonOf = (thrown: unknown): string => {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  return text.split('\n')[0] ?? text
}

export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
