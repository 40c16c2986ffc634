/**
 * The data of the travel rule: payer and payee. It is stored with each transfer, sealed, because it contains KYC data.
 */
import { ownJson } from '@partner-payments/wire'
import { partnerKey, type Sealer } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Instruction } from '../../rails/index.ts'
import type { ChainDeps } from './deps.ts'
import { transferByHash } from './store-transfers.ts'
import { travelRuleContext } from './sealed.ts'

/** The sealed parties by `partnerKey(partnerId, id)` of the instruction. */
export async function sealedTravelRulesOf(
  { db, sealer, partiesOf }: ChainDeps,
  instructions: readonly Instruction[],
): Promise<ReadonlyMap<string, Buffer>> {
  const rows = instructions.map(async (instruction) => {
    const { partnerId, id, creditorName, creditorAccount } = instruction
    const { originator, beneficiary } = await partiesOf(db, instruction)
    const data = {
      originator: { ...originator, partnerId },
      beneficiary: { ...beneficiary, name: creditorName, walletAddress: creditorAccount },
    }
    const sealed = sealer.seal(JSON.stringify(data), travelRuleContext(partnerId, id))
    return [partnerKey(partnerId, id), sealed] as const
  })
  return new Map(await Promise.all(rows))
}

/** The parties of a transaction of ours. Undefined: it is not ours. */
export async function travelRuleOf(tx: Tx, sealer: Sealer, hash: string): Promise<object | undefined> {
  const row = await transferByHash(tx, hash.toLowerCase())
  if (row === undefined) return undefined
  const { partnerId, id, travelRuleSealed } = row
  return ownJson<object>(sealer.open(travelRuleSealed, travelRuleContext(partnerId, id)))
}
