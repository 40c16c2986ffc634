/** Accepts quotes in the caller's transaction: once each, before they expire. */
import { notFound, Refusal } from '../kernel/api/index.ts'
import { type Clock, partnerKey, type RowKey } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { quoteRefusal } from './rules.ts'
import * as store from './store.ts'

/** A locked quote that may be accepted. `acceptedAt`: the time at which its status was checked. */
export type OpenQuote = store.QuoteRow & { readonly acceptedAt: Date }

export type QuoteAcceptances = {
  /**
   * Locks quotes until the end of the transaction. Returns each quote, in order, or why it cannot be accepted:
   * not_found, fx_quote_accepted, fx_quote_expired. Checks their status once all are locked. The caller must not hold
   * locks on accounts, and must pass accepted quotes to `markAccepted`.
   */
  readonly lockOpen: (tx: Tx, keys: readonly RowKey[]) => Promise<readonly (OpenQuote | Refusal)[]>
  /** Reads a quote without a lock, and why it cannot be accepted now. Refuses: not_found. */
  readonly look: (tx: Tx, key: RowKey) => Promise<{ readonly quote: OpenQuote; readonly refusal: Refusal | undefined }>
  /** Marks each locked quote once with the reference of the transaction that accepts it. Writes with the commit. */
  readonly markAccepted: (tx: Tx, accepted: readonly AcceptedQuote[]) => void
  /** Locks a quote and marks it as accepted. Refuses: not_found, fx_quote_accepted, fx_quote_expired. */
  readonly accept: (tx: Tx, key: RowKey & { readonly reference: string }) => Promise<OpenQuote>
}

type AcceptedQuote = { readonly quote: OpenQuote; readonly reference: string }

export function createAcceptances({ clock }: { readonly clock: Clock }): QuoteAcceptances {
  const lockOpen: QuoteAcceptances['lockOpen'] = async (tx, keys) => {
    if (keys.length === 0) return []
    const asked = keys.map(({ partnerId, id }) => ({ partnerId, id: id.toLowerCase() }))
    const rows = await store.lockQuotes(tx, asked)
    const now = clock.now()
    const byKey = new Map(rows.map((row) => [partnerKey(row.partnerId, row.id), row]))
    return asked.map(({ partnerId, id }) => {
      const row = byKey.get(partnerKey(partnerId, id))
      return row === undefined ? notFound('quote', '/quoteId') : (quoteRefusal(row, now) ?? { ...row, acceptedAt: now })
    })
  }
  const markAccepted: QuoteAcceptances['markAccepted'] = (tx, accepted) => {
    if (accepted.length === 0) return
    const rows = accepted.map(({ quote: { partnerId, id, acceptedAt }, reference }) => ({
      partnerId,
      id,
      acceptedBy: reference,
      acceptedAt,
    }))
    store.acceptQuotes(tx, rows)
  }
  return {
    lockOpen,
    look: async (tx, { partnerId, id }) => {
      const row = await store.quoteById(tx, partnerId, id.toLowerCase())
      if (row === undefined) throw notFound('quote', '/quoteId')
      const now = clock.now()
      return { quote: { ...row, acceptedAt: now }, refusal: quoteRefusal(row, now) }
    },
    markAccepted,
    accept: async (tx, { reference, ...key }) => {
      const [quote] = await lockOpen(tx, [key])
      if (quote === undefined || quote instanceof Refusal) throw quote ?? notFound('quote', '/quoteId')
      markAccepted(tx, [{ quote, reference }])
      return quote
    },
  }
}
