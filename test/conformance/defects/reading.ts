/** Defects of `find` and of notifications, each as a wrapper of a correct connector. */
import { newId } from '../../../service/src/kernel/index.ts'
import type { BankNotification, Connector } from '../../../service/src/rails/index.ts'
import type { Defect } from './defect.ts'

/** Changes the notifications that the service reads. */
const reading =
  (change: (notifications: readonly BankNotification[]) => readonly BankNotification[]) =>
  (connector: Connector): Connector => ({
    ...connector,
    notifications: async (max, options) => change(await connector.notifications(max, options)),
  })

const enquiryDefects: readonly Defect[] = [
  {
    title: 'find answers one key per instruction',
    defect: "answers in the bank's order, and leaves out what the bank does not have",
    wrap: (connector) => ({
      ...connector,
      find: async (keys, options) => {
        const found = await connector.find(keys, options)
        return [...found.filter(Boolean), ...found.filter((each) => !each)]
      },
    }),
    says: /Expected values to be strictly deep-equal/,
  },
  {
    title: 'the instruction of another partner',
    defect: 'looks for the id alone',
    wrap: (connector) => {
      const partnerOf = new Map<string, string>()
      return {
        ...connector,
        instruct: (instructions, options) => {
          for (const { id, partnerId } of instructions) partnerOf.set(id, partnerId)
          return connector.instruct(instructions, options)
        },
        find: (keys, options) =>
          connector.find(
            keys.map(({ partnerId, id }) => ({ id, partnerId: partnerOf.get(id) ?? partnerId })),
            options,
          ),
      }
    },
    says: /Expected values to be strictly deep-equal/,
  },
  {
    title: 'empty lists',
    defect: 'refuses an empty list',
    wrap: (connector) => ({
      ...connector,
      find: (keys, options) =>
        keys.length === 0 ? Promise.reject(new Error('nothing to ask')) : connector.find(keys, options),
    }),
    says: /nothing to ask/,
  },
]

const notificationDefects: readonly Defect[] = [
  {
    title: 'each outcome of a payment',
    defect: 'takes a return for a rejection',
    wrap: reading((notifications) =>
      notifications.map((each) => (each.kind === 'payout.returned' ? { ...each, kind: 'payout.rejected' } : each)),
    ),
    says: /Expected values to be strictly deep-equal/,
  },
  {
    title: 'repeat with the same ids',
    defect: 'makes a new id for each reading',
    wrap: reading((notifications) => notifications.map((each) => ({ ...each, id: `${each.id}0${newId()}` }))),
    says: /a second read returns the same|do not come again/,
  },
  {
    title: 'an acknowledgement removes only',
    defect: 'acknowledges everything up to the newest one',
    wrap: (connector) => ({
      ...connector,
      acknowledge: async (notifications, options) => {
        const numbers = notifications.map(({ id }) => Number(id)).filter(Number.isSafeInteger)
        const all = await connector.notifications(5000, options)
        const upTo = all.filter(({ id }) => Number(id) <= Math.max(...numbers))
        await connector.acknowledge(upTo, options)
      },
    }),
    says: /Expected values to be strictly deep-equal/,
  },
  {
    title: 'up to the limit',
    defect: 'reads one answer of the bank and not the next',
    wrap: reading((notifications) => notifications.slice(0, 20)),
    says: /50 notifications of these instructions/,
  },
  {
    title: 'that the bank sends twice',
    defect: 'passes on what the bank sends twice',
    wrap: reading((notifications) => notifications.flatMap((each) => [each, each])),
    says: /have unique ids/,
  },
  {
    title: 'sends the newest first',
    defect: "keeps the bank's order",
    wrap: (connector) => {
      let readings = 0
      return {
        ...connector,
        notifications: async (max, options) => {
          const read = await connector.notifications(max, options)
          // The order changes only after the reads that expect order.
          readings += read.length > 0 ? 1 : 0
          return readings > 2 ? read.toReversed() : read
        },
      }
    },
    says: /Expected values to be strictly deep-equal/,
  },
  {
    title: 'a late notification',
    defect: 'remembers the newest notification and reads what follows',
    wrap: (connector) => {
      let newest = 0
      return {
        ...connector,
        notifications: async (max, options) =>
          (await connector.notifications(max, options)).filter(({ id }) => Number(id) > newest),
        acknowledge: async (notifications, options) => {
          await connector.acknowledge(notifications, options)
          newest = Math.max(newest, ...notifications.map(({ id }) => Number(id)).filter(Number.isSafeInteger))
        },
      }
    },
    says: /1 notifications of these instructions/,
  },
  {
    title: 'the time of the oldest notification',
    defect: 'never has an oldest notification',
    wrap: (connector) => ({ ...connector, oldestNotification: async () => null }),
    says: /a time that has passed/,
  },
]

export const readingDefects: readonly Defect[] = [...enquiryDefects, ...notificationDefects]
