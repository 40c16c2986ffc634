/** Reads and seals the payer when the connector accepts an instruction, and writes the payer as the ultimate debtor. */
import { ownJson } from '@partner-payments/wire'
import type { OtherId, Party } from '../../iso20022/index.ts'
import type { SealedColumn } from '../../postgres/index.ts'
import type { Instruction, InstructionKey, PayerData } from '../../rails/index.ts'
import type { BankDeps, BankRules, PayerKey } from './deps.ts'
import { paymentKind } from './schemes.ts'
import type { OutgoingPayment } from './store-instructions.ts'

const payerContext = (partnerId: string, id: string) => ['rails.payer', partnerId, id]

export const sealedPayers: SealedColumn = {
  table: 'rails.iso_instructions',
  column: 'payer_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => payerContext(partnerId, cell('id')),
}

/** Chooses the payer that the bank's files name. Undefined: the files name only the owner of the account. */
function payerKey(
  { partnerId, customerId }: Pick<Instruction, 'partnerId' | 'customerId'>,
  { payer = 'customer' }: Pick<BankRules, 'payer'>,
): PayerKey | undefined {
  // The money of a case is returned without a customer: the owner of the account pays.
  if (payer === 'none' || customerId === undefined) return undefined
  return { partnerId, customerId: payer === 'partner' ? null : customerId }
}

/** Reads and seals the payers of instructions. Returns them by instruction id. */
export async function sealPayers(
  { payers, rules }: Pick<BankDeps, 'payers' | 'rules'>,
  instructions: readonly Instruction[],
): Promise<ReadonlyMap<string, Buffer>> {
  const asked = instructions.flatMap((instruction) => {
    const key = payerKey(instruction, rules)
    return key === undefined ? [] : [{ key, id: instruction.id }]
  })
  if (payers === undefined || asked.length === 0) return new Map()
  const read = await payers.read(asked.map(({ key }) => key))
  return new Map(
    asked.flatMap(({ key: { partnerId }, id }, index) => {
      const payer = read[index]
      if (payer === undefined) return []
      return [[id, payers.sealer.seal(JSON.stringify(payer), payerContext(partnerId, id))] as const]
    }),
  )
}

type SealedPayerRow = InstructionKey & { readonly payerSealed: Uint8Array | null }

/** Opens the payers of stored payments. */
export const openPayers = <Row extends SealedPayerRow>({ payers }: Pick<BankDeps, 'payers'>, rows: readonly Row[]) =>
  rows.map(({ payerSealed, ...row }) => {
    if (payerSealed === null || payers === undefined) return row
    return { ...row, payer: ownJson<PayerData>(payers.sealer.open(payerSealed, payerContext(row.partnerId, row.id))) }
  })

/** The form of an LEI (ISO 17442), which the API does not check. */
const leiForm = /^[A-Z0-9]{18}\d{2}$/

/**
 * Writes UltmtDbtr. The account is in `Othr`, because the message has no account element for the party; without an IBAN,
 * the customer number is there (docs/decisions/0137-the-payer-stands-in-the-file.md).
 */
export function ultimateDebtor(payment: OutgoingPayment, rules: Pick<BankRules, 'profile'>): Party | undefined {
  const { payer } = payment
  // The guidelines require the name of every party in the message.
  if (payer === undefined || payer.name === null) return undefined
  const { profile } = rules
  const { isPerson, name, account, customerNumber, documentNumber, address, lei } = payer
  const { payerIdsMax = 1, hasPayerAddress = false } = profile.kinds[paymentKind(payment, rules)] ?? {}
  const documentCode = isPerson ? 'NIDN' : 'COID'
  const others: readonly OtherId[] = [
    ...(account === null ? [] : [{ id: account, scheme: { proprietary: 'IBAN' } }]),
    { id: customerNumber, scheme: { code: 'CUST' } },
    ...(documentNumber === null ? [] : [{ id: documentNumber, scheme: { code: documentCode } }]),
  ].slice(0, payerIdsMax)
  // Version 03 has no element for the LEI and writes it as another `Othr`.
  const hasLei = lei !== null && leiForm.test(lei) && (profile.message === 'pain.001.001.09' || payerIdsMax > 1)
  const { lines, postCode, town, country } = address
  const [street, buildingName] = lines
  const place =
    town === null || country === null || !hasPayerAddress
      ? {}
      : {
          address: {
            ...(street === undefined ? {} : { street }),
            ...(buildingName === undefined ? {} : { buildingName }),
            ...(postCode === null ? {} : { postCode }),
            town,
            country,
          },
        }
  return {
    name,
    ...place,
    id: isPerson ? { kind: 'private', others } : { kind: 'organisation', others, ...(hasLei ? { lei } : {}) },
  }
}
