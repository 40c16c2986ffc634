/**
 * Processor time of accepting a payout in process, with each kind of rule and without any: `node bench/controls-cost.ts [rounds] [calls]`.
 * Batches of `calls` payouts of 16 partners, without HTTP and workers. Processor time can be compared on a machine that does
 * other work; a rate cannot.
 */
import { numbersGiven } from '../scripts/arguments.ts'
import { addPartner, createTestService, pay, type Service, type TestPartner } from '../test/support/composition.ts'
import { present } from '../service/src/kernel/index.ts'
import { serverCpuSeconds } from './cpu.ts'
import { startPostgres } from './postgres.ts'
import { spreadOf } from './rounds.ts'

const { rounds, callsPerBatch } = numbersGiven({ rounds: 12, callsPerBatch: 64 })
const batches = 25
const warmUps = 3
const partnersOfEach = 16
const limitMinor = 900_000_000_000n
const kinds = ['none', 'limits', 'fees', 'approvals', 'all'] as const
type Kind = (typeof kinds)[number]

const addRules = (service: Service, { partnerId }: TestPartner, kind: Kind) =>
  service.db.transaction(async (tx) => {
    const of = { partnerId, currency: 'EUR' } as const
    const { limits, fees, approvalRules } = service.payoutControls
    const has = (wanted: Kind) => kind === wanted || kind === 'all'
    if (has('limits'))
      for (const scope of ['partner', 'customer', 'beneficiary'] as const)
        for (const period of ['payment', 'day', 'month'] as const)
          await limits.set(tx, { ...of, scope, period, amount: limitMinor })
    const fee = { rail: 'any', fixedAmount: 20n, basisPoints: 5, minAmount: 0n, maxAmount: null } as const
    if (has('fees')) await fees.set(tx, { ...of, ...fee })
    const approval = {
      aboveAmount: limitMinor,
      aboveDayAmount: null,
      aboveBulkAmount: null,
      perPersonAmount: null,
      beneficiaryHours: null,
      payeeMismatch: false,
      expiresHours: 24,
      needsPasskey: false,
    }
    if (has('approvals')) await approvalRules.set(tx, { ...of, ...approval })
  })

async function addPartners(service: Service, kind: Kind): Promise<readonly TestPartner[]> {
  const partners: TestPartner[] = []
  for (let index = 0; index < partnersOfEach; index += 1) {
    const partner = await addPartner(service, 100_000_000_000n)
    await addRules(service, partner, kind)
    partners.push(partner)
  }
  return partners
}

const postgres = await startPostgres()
const service = await createTestService({ url: await postgres.create('cost', 'service') })

const payFrom = (partners: readonly TestPartner[], index: number) =>
  pay(service, present(partners[index % partners.length], 'each kind has partners'), '1.00')

/** Milliseconds of the process and of PostgreSQL for a payout. */
async function measure(partners: readonly TestPartner[]) {
  const serverSeconds = () => serverCpuSeconds(postgres.pid ?? 0) ?? 0
  const before = { process: process.cpuUsage(), server: serverSeconds() }
  for (let batch = 0; batch < batches; batch += 1)
    await Promise.all(Array.from({ length: callsPerBatch }, (_, index) => payFrom(partners, index)))
  const { user, system } = process.cpuUsage(before.process)
  const payouts = batches * callsPerBatch
  return { process: (user + system) / 1000 / payouts, server: ((serverSeconds() - before.server) * 1000) / payouts }
}

const measured = new Map<Kind, { readonly process: number; readonly server: number }[]>()
const partnersOf = new Map<Kind, readonly TestPartner[]>()
for (const kind of kinds) partnersOf.set(kind, await addPartners(service, kind))
for (let round = -warmUps; round < rounds; round += 1) {
  await postgres.analyse()
  for (const [kind, partners] of partnersOf) {
    const sample = await measure(partners)
    if (round >= 0) measured.set(kind, [...(measured.get(kind) ?? []), sample])
  }
}
const plain = measured.get('none') ?? []
for (const [kind, samples] of measured) {
  const median = (of: 'process' | 'server') => spreadOf(samples.map((sample) => sample[of])).median.toFixed(3)
  const sumOf = (sample: (typeof samples)[number] | undefined) => (sample?.process ?? 0) + (sample?.server ?? 0)
  const ratio = spreadOf(samples.map((sample, round) => sumOf(sample) / sumOf(plain[round])))
  const spread = `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)})`
  console.log(
    `${kind}: ${median('process')} ms in the process, ${median('server')} ms in PostgreSQL; to none ${spread}`,
  )
}
await service.close()
await postgres.stop()
