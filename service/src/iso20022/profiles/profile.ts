/**
 * Profiles of pain.001: how the guideline of a market wants the file. A profile is data: what the writer sets, and the rules
 * of the market with their sources, which tests hold against written files.
 */
import type { Pain001Form } from '../writers/pain001.ts'
import type { PaymentKind, Rule, RuleSource } from './rule.ts'

/** The elements of a batch and of its payments that depend on the kind. */
export type KindForm = {
  readonly serviceLevel?: string
  readonly localInstrument?: string
  /** `configured`: the bank's setting says who bears the charges. */
  readonly chargeBearer?: 'SLEV' | 'configured'
  /** A payment needs the BIC of the creditor's bank, unless the account is in one of these countries. */
  readonly bicUnlessIn?: readonly string[]
  /** True if UltmtDbtr may have a postal address. */
  readonly hasPayerAddress?: boolean
  /** How many other ids (`Othr`) UltmtDbtr may have. Absent: one. */
  readonly payerIdsMax?: number
}

export type Pain001Profile = Pain001Form & {
  readonly id: string
  readonly title: string
  /** Kinds without a form are not paid by files of this profile. */
  readonly kinds: Readonly<Partial<Record<PaymentKind, KindForm>>>
  /** The scheme of the id of the initiating party (ExternalOrganisationIdentification1Code), if it must have one. */
  readonly initiatorIdScheme?: string
  /** `hybrid`: structured, or with at most two lines. `none`: the file has no address of the debtor. */
  readonly debtorAddress: 'hybrid' | 'structured' | 'none'
  /** True if CdtrAcct may have a type. */
  readonly hasAccountType: boolean
  /** Texts of InstrForDbtrAgt that ask for a check of the payees, or against one. */
  readonly payeeCheck?: Readonly<Record<'in' | 'out', string>>
  /** Names of the schemas that its files obey: of ISO, and of the market if it publishes one, perhaps for some kinds. */
  readonly schemas: readonly { readonly name: string; readonly kinds?: readonly PaymentKind[] }[]
  readonly sources: Readonly<Record<string, RuleSource>>
  readonly rules: readonly Rule[]
}
