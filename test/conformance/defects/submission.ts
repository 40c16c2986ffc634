/** Defects of `instruct`, and of calls to an unreachable bank, each as a wrapper of a correct connector. */
import { newId } from '../../../service/src/kernel/index.ts'
import type { Connector, Instruction } from '../../../service/src/rails/index.ts'
import type { Defect } from './defect.ts'

const accepted = { accepted: true } as const

/** Changes the instructions that the bank receives. */
const sending =
  (change: (instruction: Instruction) => Instruction) =>
  (connector: Connector): Connector => ({
    ...connector,
    instruct: (instructions, options) => connector.instruct(instructions.map(change), options),
  })

/** The bank gets another reference the second time, and treats the instruction as new. */
const forgetful = (connector: Connector, sent = new Set<string>()): Connector => ({
  ...connector,
  instruct: (instructions, options) =>
    connector.instruct(
      instructions.map((each) => {
        const isRepeated = sent.has(each.id)
        sent.add(each.id)
        return isRepeated ? { ...each, id: newId() } : each
      }),
      options,
    ),
})
/** Instructions sent so far, also before a restart. */
const sentEver = new Set<string>()

const cents = (amount: bigint) => Math.trunc((Number(amount) / 100) * 100)

const submissionDefects: readonly Defect[] = [
  {
    title: 'the id and the limits',
    defect: 'gives a call more time than a lease has',
    wrap: (connector) => ({ ...connector, limits: { ...connector.limits, callTimeoutMs: 60_000 } }),
    says: /callTimeoutMs is at most 10000: 60000/,
  },
  {
    title: 'a forecast has times in order',
    defect: 'forgets its cut-off',
    wrap: (connector) => ({
      ...connector,
      forecast: (payment, at) => ({ ...connector.forecast(payment, at), cutOffAt: at }),
    }),
    says: /the cut-off is after the submission/,
  },
  {
    title: 'the bank takes a recall once by its id',
    defect: 'takes a recall of a payment that the bank does not have',
    wrap: (connector) => ({ ...connector, recall: async () => ({ taken: true }) }),
    says: /a recall of an unknown payment is not taken/,
  },
  {
    title: 'is accepted, executed once and settled',
    defect: 'answers before the bank has the instruction',
    wrap: (connector) => ({ ...connector, instruct: async (instructions) => instructions.map(() => accepted) }),
    says: /the bank has the instruction/,
  },
  {
    title: 'duplicates in one call',
    defect: 'gives each submission a new reference',
    wrap: (connector) => forgetful(connector),
    says: /the bank executed the instruction 2 times/,
  },
  {
    title: 'concurrent calls of two processes',
    defect: 'remembers in memory by which reference the bank knows an instruction',
    wrap: (connector) => {
      const references = new Map<string, string>()
      return sending((instruction) => {
        const id = references.get(instruction.id) ?? newId()
        references.set(instruction.id, id)
        return { ...instruction, id }
      })(connector)
    },
    says: /the bank executed the instruction 2 times/,
  },
  {
    title: 'an instruction repeated after a restart',
    defect: 'gives a repetition another reference',
    wrap: (connector) => forgetful(connector, sentEver),
    says: /the bank executed the instruction 2 times/,
  },
  {
    title: 'a refused instruction returns an error key',
    defect: "passes on the bank's own text",
    wrap: (connector) => ({
      ...connector,
      instruct: async (instructions, options) =>
        (await connector.instruct(instructions, options)).map((outcome) =>
          outcome === 'unknown' || outcome.accepted
            ? outcome
            : { ...outcome, details: 'ACCT NOT FOUND IN HOST TABLE 7' },
        ),
    }),
    says: /the details are a sentence/,
  },
  {
    title: 'a partly accepted batch',
    defect: 'leaves out what the bank did not answer',
    wrap: (connector) => ({
      ...connector,
      instruct: async (instructions, options) => {
        const outcomes = await connector.instruct(instructions, options)
        const known = outcomes.filter((outcome) => outcome !== 'unknown')
        return [...known, ...outcomes.filter((outcome) => outcome === 'unknown')]
      },
    }),
    says: /the outcomes stand in the order of the instructions/,
  },
  {
    title: 'concurrent full calls',
    defect: 'sends no more than forty instructions of a call',
    wrap: (connector) => ({
      ...connector,
      instruct: async (instructions, options) => {
        const outcomes = await connector.instruct(instructions.slice(0, 40), options)
        return instructions.map((_each, index) => outcomes[index] ?? accepted)
      },
    }),
    says: /the outcomes are in order|the bank has the instruction/,
  },
  {
    title: 'amounts arrive exactly',
    defect: 'computes with floating point',
    wrap: sending((instruction) => ({ ...instruction, amount: BigInt(cents(instruction.amount)) })),
    says: /Expected values to be strictly deep-equal/,
  },
  {
    title: 'names, accounts and references',
    defect: 'drops letters that are not ASCII',
    wrap: sending((instruction) => ({ ...instruction, creditorName: instruction.creditorName.replace(/[^ -~]/g, '') })),
    says: /creditorName arrives exactly/,
  },
]

/** Returns `answer` where the connector throws. */
const hiding = (hidden: Partial<Record<'instruct' | 'find' | 'notifications' | 'acknowledge', true>>) =>
  function wrap(connector: Connector): Connector {
    return {
      ...connector,
      ...(hidden.instruct && {
        instruct: (instructions, options) =>
          connector.instruct(instructions, options).catch(() => instructions.map(() => accepted)),
      }),
      ...(hidden.find && {
        find: (keys, options) => connector.find(keys, options).catch(() => keys.map(() => undefined)),
      }),
      ...(hidden.notifications && {
        notifications: (max, options) => connector.notifications(max, options).catch(() => []),
      }),
      ...(hidden.acknowledge && {
        acknowledge: (notifications, options) => connector.acknowledge(notifications, options).catch(() => undefined),
      }),
    }
  }

const refusingErrors = (connector: Connector): Connector => ({
  ...connector,
  instruct: (instructions, options) =>
    connector.instruct(instructions, options).catch(() =>
      instructions.map(() => ({
        accepted: false,
        errorKey: 'BankRejection',
        details: 'The bank did not take it.',
        reasonCode: null,
      })),
    ),
})

const outageDefects: readonly Defect[] = [
  {
    title: 'after a lost call the outcome is unknown',
    defect: 'takes a call that broke for accepted',
    wrap: hiding({ instruct: true }),
    says: /the bank has the instruction/,
  },
  {
    title: 'after a lost answer',
    defect: 'submits again under another reference by itself',
    wrap: (connector) => ({
      ...connector,
      instruct: (instructions, options) =>
        connector
          .instruct(instructions, options)
          .catch(() => connector.instruct(instructions.map((each) => ({ ...each, id: newId() })))),
    }),
    says: /the bank executed the instruction 2 times/,
  },
  {
    title: 'after a half-executed call',
    defect: 'takes the whole call for lost',
    wrap: (connector) => {
      const lost = new Set<string>()
      return {
        ...connector,
        instruct: (instructions, options) =>
          connector.instruct(instructions, options).catch((error: unknown) => {
            for (const { id } of instructions) lost.add(id)
            throw error
          }),
        find: async (keys, options) =>
          (await connector.find(keys, options)).map((found, index) =>
            lost.has(keys[index]?.id ?? '') ? undefined : found,
          ),
      }
    },
    says: /find does not know an instruction that the bank has/,
  },
  {
    title: 'after an error before the execution',
    defect: 'takes an error of the bank for a refusal',
    wrap: refusingErrors,
    says: /the bank has the instruction/,
  },
  {
    title: 'after an error that follows the execution',
    defect: 'takes an error of the bank for a refusal',
    wrap: refusingErrors,
    says: /the bank executed the instruction 1 times/,
  },
  {
    title: 'find throws if the bank does not answer',
    defect: 'answers that the bank has nothing when it did not ask it',
    wrap: hiding({ find: true }),
    says: /find throws without an answer/,
  },
  {
    title: 'a read or acknowledgement without an answer',
    defect: 'reads nothing when the bank does not answer',
    wrap: hiding({ notifications: true }),
    says: /a read without an answer throws/,
  },
  {
    title: 'a read or acknowledgement without an answer',
    defect: 'hides that an acknowledgement was lost',
    wrap: hiding({ acknowledge: true }),
    says: /an acknowledgement without an answer throws/,
  },
  {
    title: 'a hanging call',
    defect: 'ignores the signal',
    wrap: (connector) => ({ ...connector, instruct: (instructions) => connector.instruct(instructions) }),
    says: /instruct, after its signal aborted, did not end within 1000 ms/,
  },
  {
    title: 'a hanging call',
    defect: 'stops waiting and leaves the connection open',
    wrap: (connector) => ({
      ...connector,
      find: (keys, { signal } = { signal: new AbortController().signal }) =>
        Promise.race([
          connector.find(keys),
          new Promise<never>((_resolve, reject) => {
            const abort = () =>
              void connector
                .find([], { signal })
                .then(() => connector.find(keys, { signal }))
                .catch(reject)
            if (signal.aborted) abort()
            else signal.addEventListener('abort', abort)
          }),
        ]),
    }),
    says: /find leaves \d+ connections open/,
  },
]

export const submissionAndOutageDefects: readonly Defect[] = [...submissionDefects, ...outageDefects]
