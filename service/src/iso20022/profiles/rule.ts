/** A rule of a market about an element of pain.001, with the document that states it. */

/**
 * `Sepa`: a credit transfer in euro within SEPA. `Instant`: the same as an instant payment. `Other`: another currency, or euro
 * outside SEPA. `QrBill`: a Swiss bill to a QR-IBAN.
 */
export type PaymentKind = 'Sepa' | 'Instant' | 'Other' | 'QrBill'

/** `read`: `whole`, or `quoted`: only another document that cites it could be read. */
export type RuleSource = {
  readonly title: string
  readonly edition: string
  readonly publisher: string
  /** The copy that was read. */
  readonly found: string
  readonly read: 'whole' | 'quoted'
}

/** A demand on the element in each of its contexts. */
export type Demand =
  | { readonly is: 'present' }
  | { readonly is: 'absent' }
  | { readonly is: 'oneOf'; readonly values: readonly string[] }
  | { readonly is: 'noneOf'; readonly values: readonly string[] }
  | { readonly is: 'form'; readonly pattern: string }
  | { readonly is: 'count'; readonly max: number }

export type Rule = {
  /** Path of the contexts below the message: `PmtInf/CdtTrfTxInf`. */
  readonly within: string
  /** Path of the element in a context, perhaps of an attribute: `Amt/InstdAmt/@Ccy`. */
  readonly element: string
  readonly demand: Demand
  /** Kinds of payments that it is about; absent: all. */
  readonly kinds?: readonly PaymentKind[]
  /** The first and the last execution day on which it holds, `YYYY-MM-DD`. Absent: it always held; no end is known. */
  readonly from?: string
  readonly until?: string
  /** A key of the sources of the profile, and the place within. */
  readonly source: string
  readonly place: string
}
