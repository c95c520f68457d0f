/**
 * Migrations of releases, with the SHA-256 of their files. They are never changed again: a database that has applied one would
 * differ from a new one. A release adds its migrations here.
 */
export const RELEASED_MIGRATIONS: Readonly<Record<string, string>> = {
  '0001_accounts.sql': '39ad264d72de9622384d25737cdb8a2cc3c98864450addaf0be9aada16491940',
  '0002_applications.sql': '76094928be5c590de89fcf5d744be7cf00b84ce08acdc7103a687039702ec3f3',
  '0003_reviews.sql': 'cc5bf42cf8d497325cdae253a6586e861cf32e0d70670e5a5554854f5ecb16df',
  '0004_grants.sql': '48a998e2afd0e3743c13d29705e5755c88f2ed0376dabe009e984a94a9f60d96',
  '0005_device_codes.sql': 'b9424dcacac9c61cbbdc1139dd521221aa4c5bd17fa658cd98ce8be0f686cc69',
  '0006_audit.sql': '21b1c8afe72bc2361f0086fd29f297787db41ad34ea0e3dc47722db275ef7a23',
  '0007_management.sql': '6188d5b1f411ead9bc77e48e75dd9397aac8e602d181b57ee038bc2516f89119',
}
