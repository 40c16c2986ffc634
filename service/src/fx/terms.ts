/** Pure: the operator's charges for a quote, by pair and kind. */
import type { Currency } from '../kernel/index.ts'
import type { FxTerms } from '../rates/index.ts'
import type { Pair, QuoteKind, Terms } from './rules.ts'

const noFee = { fixed: 0n, basisPoints: 0 } as const

/**
 * A pair has a margin in each direction. A quote that is held longer costs more: the operator bears the risk meanwhile.
 */
export function termsOf(settings: FxTerms, pair: Pair, kind: QuoteKind): Terms {
  const { FX_MARGIN: margins, FX_HELD_MARGIN: heldMargin, FX_FEE: fees } = settings
  const firm = margins.pairs.get(nameOf(pair)) ?? margins.others
  return {
    marginBasisPoints: kind === 'firm' ? firm : firm + heldMargin,
    fee: fees.get(pair.sellCurrency) ?? noFee,
  }
}

const nameOf = ({ sellCurrency, buyCurrency }: Pair): `${Currency}/${Currency}` => `${sellCurrency}/${buyCurrency}`
