alter table grants drop column noted_origin;
