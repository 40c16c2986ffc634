/** The bytes of a message, the limits for reading them, and the problems of files that are not messages. */

/** The bytes in order, in chunks of any length. */
export type MessageSource = AsyncIterable<Uint8Array>

/** The limits for reading a message. Larger input is refused as `too_large` before it is kept in memory. */
export type MessageLimits = {
  readonly bytesMax: number
  readonly depthMax: number
  /** Characters of one text. */
  readonly textMax: number
  /** Characters of one tag with its attributes, one comment, one processing instruction. */
  readonly tagMax: number
  readonly attributesMax: number
  /** Elements in memory: of an entry without its payments, of a payment, or of the head of a statement. */
  readonly elementsMax: number
  /** Payments of one entry, and the characters of all texts of one entry. */
  readonly detailsMax: number
  readonly recordCharsMax: number
}

const kibi = 1024
/** Texts of the guideline have at most 500 characters. An entry of 100,000 payments with long texts is accepted. */
export const limitsDefault: MessageLimits = {
  bytesMax: 16 * kibi * kibi * kibi,
  depthMax: 64,
  textMax: 64 * kibi,
  tagMax: 16 * kibi,
  attributesMax: 32,
  elementsMax: 100_000,
  detailsMax: 200_000,
  recordCharsMax: 64 * kibi * kibi,
}
/** A message that is read as one value is kept in memory: 100,000 payments of pain.001 have 70 MiB. */
export const wholeLimitsDefault: MessageLimits = { ...limitsDefault, bytesMax: kibi * kibi * kibi }

/**
 * `not_whole`: the bytes end before the document: the file is still being written, or truncated. `not_xml`: not
 * well-formed. `too_large`: beyond a limit. `not_in_schema`: a mandatory element is missing, or a value has a wrong format.
 */
export type ProblemCode =
  | 'not_xml'
  | 'not_whole'
  | 'doctype'
  | 'encoding'
  | 'too_large'
  | 'unknown_message'
  | 'not_in_schema'

/** The only error that refuses a file because of its bytes. */
export class MessageProblem extends Error {
  override readonly name = 'MessageProblem'
  readonly code: ProblemCode
  /** The path of the element: `Document/BkToCstmrStmt/Stmt/Ntry/Amt`. Lines count from 1. */
  readonly path: string
  readonly line: number

  constructor(code: ProblemCode, message: string, where: { readonly path: string; readonly line: number }) {
    super(message)
    this.code = code
    this.path = where.path
    this.line = where.line
  }
}
