/** Pure: the meaning of the codes of a booking: of ISO 20022, or the bank's own. */
import type { TransactionCodes } from '../../iso20022/index.ts'

export type EntryCodes = TransactionCodes

const feeCodes: ReadonlySet<string> = new Set(['CHRG', 'COMM', 'COMT', 'FEES'])
/** German banks: the transaction code and the business code (805 to 809 are charges). */
const ownFeeCode = /^(?:N?CHG|CHRG|FEES?|COM[MT])\b|\+80[5-9](?:\+|$)/
const returnCodes: ReadonlySet<string> = new Set(['RRTN', 'RPCR', 'ARET'])
const ownReturnCode = /^N?RTI\b|\+159(?:\+|$)/

export const codesText = ({ domain, family, subFamily, proprietary }: EntryCodes): string =>
  domain === undefined ? (proprietary ?? '') : [domain, family ?? '', subFamily ?? ''].join('/')

export const isFee = ({ subFamily = '', domain, proprietary = '' }: EntryCodes): boolean =>
  feeCodes.has(subFamily) || (domain === undefined && ownFeeCode.test(proprietary))

export const isReturn = ({ subFamily = '', domain, proprietary = '' }: EntryCodes): boolean =>
  returnCodes.has(subFamily) || (domain === undefined && ownReturnCode.test(proprietary))

export const textOf = (texts: readonly string[]): string => texts.join(' ').trim()
