/** The problem with a file that is not a message. */

/**
 * `not_whole`: the bytes end before the document does: a file that is still being written, or was cut. `not_xml`: not
 * well-formed. `too_large`: beyond a limit. `not_in_schema`: a mandatory element is missing, or a value has another
 * form.
 */
export type ProblemCode =
  | 'not_xml'
  | 'not_whole'
  | 'doctype'
  | 'encoding'
  | 'too_large'
  | 'unknown_message'
  | 'not_in_schema'

/** The only error by which a file is refused, whatever its bytes are. */
export class MessageProblem extends Error {
  override readonly name = 'MessageProblem'
  readonly code: ProblemCode
  /** The elements down to the place: `Document/BkToCstmrStmt/Stmt/Ntry/Amt`. Lines count from 1. */
  readonly path: string
  readonly line: number

  constructor(code: ProblemCode, message: string, where: { readonly path: string; readonly line: number }) {
    super(message)
    this.code = code
    this.path = where.path
    this.line = where.line
  }
}
