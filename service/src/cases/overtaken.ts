/** The refusal of a step that another person's step has overtaken. */
import { Refusal } from '../kernel/api/index.ts'

/** Steps of other people, after which a step no longer applies. */
export type Overtaking = 'owned' | 'handedBack' | 'resolved' | 'returning' | 'replaced'

/** `who` and `at` stay values, so that a page writes them in the language and the zone of its reader. */
export class Overtaken extends Refusal {
  readonly by: Overtaking
  readonly who: string
  readonly at: Date | null

  constructor(by: Overtaking, detail: string, { who = null, at = null }: { who?: string | null; at?: Date | null }) {
    super('validation_failed', detail)
    this.by = by
    this.who = who ?? ''
    this.at = at
  }
}
