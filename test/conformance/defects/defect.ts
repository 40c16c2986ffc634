import type { Connector } from '../../../service/src/rails/index.ts'

export type Defect = {
  /** A part of the title of the check that finds it. */
  readonly title: string
  readonly defect: string
  readonly wrap: (connector: Connector) => Connector
  /** What the check says. */
  readonly says: RegExp
}
