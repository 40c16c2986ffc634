import type { Connector } from '../../../service/src/rails/index.ts'

export type Defect = {
  /** A part of the title of the check that finds the defect. */
  readonly title: string
  readonly defect: string
  readonly wrap: (connector: Connector) => Connector
  /** The message of the check. */
  readonly says: RegExp
}
