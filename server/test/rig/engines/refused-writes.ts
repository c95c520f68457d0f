/** Makes PostgreSQL refuse some inserts of device codes (SQLSTATE 53300) and counts them, until it is lifted. */
import type { TestDatabase } from './database.ts'

export type RefusedWrites = { count(): Promise<number>; lift(): Promise<void> }

/** `fits`: condition of the trigger that selects rows. */
export async function refuseWrites(
  database: TestDatabase,
  operation: 'insert' | 'update',
  fits = 'true',
): Promise<RefusedWrites> {
  // A sequence keeps counting when its transaction is rolled back.
  await database.query(`
    create sequence refused_writes;
    create function refuse_write() returns trigger language plpgsql as $$
      begin
        perform nextval('refused_writes');
        raise exception 'not now' using errcode = '53300';
      end $$;
    create trigger refuse_write before ${operation} on device_codes for each row when (${fits})
      execute function refuse_write()`)
  return {
    count: async () => {
      const sql = 'select case when is_called then last_value::int else 0 end as count from refused_writes'
      const [row] = await database.query<{ count: number }>(sql)
      return row?.count ?? 0
    },
    lift: async () => {
      await database.query(`
        drop trigger refuse_write on device_codes;
        drop function refuse_write();
        drop sequence refused_writes`)
    },
  }
}
