/** The port of a scheme for verification of payee. A connector of another scheme implements it; README.md says how. */
import type { NotPossibleReason } from '@partner-payments/wire'

export type PayeeQuestion = { readonly name: string; readonly iban: string }

/** A close match has the name of the account. `NoMatch` never has one. */
export type PayeeResult =
  | { readonly result: 'Match' | 'NoMatch' }
  | { readonly result: 'CloseMatch'; readonly matchedName: string }
  | { readonly result: 'NotPossible'; readonly reason: NotPossibleReason }

/** `schemeReference`: the reference under which the scheme finds its answer. */
export type SchemeAnswer = PayeeResult & { readonly schemeReference: string }

export type PayeeScheme = {
  /** Names the scheme in evidence and logs. Not `own`. */
  readonly id: string
  /** How long a payer waits for an answer. The service stops waiting after it. */
  readonly timeoutMs: number
  /** Throws an Error if the scheme cannot be reached or answers invalidly. `signal` ends a call that takes too long. */
  readonly ask: (question: PayeeQuestion, signal: AbortSignal) => Promise<SchemeAnswer>
}
