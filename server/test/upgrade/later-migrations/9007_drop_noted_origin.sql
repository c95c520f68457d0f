-- latchkey: contract, expanded in 0.1.0
alter table grants drop column noted_origin;
