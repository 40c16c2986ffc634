/** The content of a report before it is formatted: a head, and records that can be read several times. */
import type { ReportKind } from '@partner-payments/wire'
import type { Currency, Minor } from '../../kernel/index.ts'
import type { DocumentBrand } from '../../typesetting/index.ts'
import type { Period } from '../rules.ts'

/**
 * `text`: written by people. `number`: exact decimal text. `json`: JSON text, unchanged in CSV. `plain`: our own words.
 */
export type ColumnType = 'plain' | 'text' | 'number' | 'json'
export type ContentColumns = Readonly<Record<string, ColumnType>>
/** The values of a record by column. Columns without a value are absent. */
export type ContentRow = Readonly<Record<string, string>>

export type ReportHead = {
  readonly kind: ReportKind
  readonly partnerName: string
  /** Absent in formats without a layout. */
  readonly brand: DocumentBrand | undefined
  readonly customer: { readonly id: string; readonly name: string } | undefined
  readonly period: Period
  readonly currency: Currency | null
}

/** The payment of a line. A fee has no name: that of the operator is left out. */
export type LinePayment = Readonly<Record<'endToEndId' | 'userReference' | 'name' | 'account', string | null>>

/** A line of an account: of the balance for statements, of `fees` for fees. */
export type AccountLine = {
  readonly id: string
  readonly time: string
  readonly text: string
  readonly reference: string
  /** Empty for the partner itself. */
  readonly customerId: string
  readonly amount: Minor
  readonly balance: Minor
  /** The payment of a statement line. Absent if no transaction has the reference. */
  readonly payment?: LinePayment | undefined
}

/** The lines of an account, which can be read several times. `summary` does not read them. */
export type AccountSection = {
  readonly currency: Currency
  readonly accountId: string | undefined
  readonly opening: Minor
  readonly lines: () => AsyncIterable<readonly AccountLine[]>
  readonly summary: () => Promise<SectionSummary>
}
export type SectionSummary = {
  readonly lines: number
  readonly creditLines: number
  readonly credits: Minor
  readonly debits: Minor
  readonly closing: Minor
}

export type CsvPart = { readonly text: string; readonly rows: number }

export type ReportContent = {
  readonly head: ReportHead
  readonly columns: ContentColumns
  /** Rows in a total order. */
  readonly rows: () => AsyncIterable<readonly ContentRow[]>
  /** `rows` as lines of CSV, for content that may be very long. */
  readonly csvLines?: () => AsyncIterable<CsvPart>
  readonly sections: readonly AccountSection[]
}
