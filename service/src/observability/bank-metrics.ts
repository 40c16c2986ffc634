/** The metrics of file-based banks. */
import { Counter, Gauge, type Registry } from 'prom-client'

export type BankMetrics = {
  /** Counts a made file, with the number of its payments or recalls. */
  readonly fileMade: (connector: string, kind: string, payments: number) => void
  readonly fileDelivered: (connector: string, kind: string) => void
  /** Payments that wait for a file, or for the opening of the bank. */
  readonly queued: (connector: string, scheme: string, payments: number) => void
}

export function createBankMetrics(registers: Registry[]): BankMetrics {
  const made = new Counter({
    name: 'payments_bank_files_made_total',
    help: 'Files made for a bank, by connector and message',
    labelNames: ['connector', 'message'],
    registers,
  })
  const payments = new Counter({
    name: 'payments_bank_file_payments_total',
    help: 'Payments and recalls in files made for a bank, by connector and message',
    labelNames: ['connector', 'message'],
    registers,
  })
  const delivered = new Counter({
    name: 'payments_bank_files_delivered_total',
    help: 'Files delivered to a bank, by connector and message',
    labelNames: ['connector', 'message'],
    registers,
  })
  const queued = new Gauge({
    name: 'payments_bank_payments_queued',
    help: 'Payments that wait for a file or for the opening of the bank, by connector and scheme',
    labelNames: ['connector', 'scheme'],
    registers,
  })
  return {
    fileMade: (connector, message, count) => {
      made.inc({ connector, message })
      payments.inc({ connector, message }, count)
    },
    fileDelivered: (connector, message) => delivered.inc({ connector, message }),
    queued: (connector, scheme, count) => queued.set({ connector, scheme }, count),
  }
}
